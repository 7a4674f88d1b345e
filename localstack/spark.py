"""Run a job of Glue on this machine: `localstack/spark-submit JOB_NAME --bucket uploads …`.

Script, extra Python file, settings and default arguments are those of the deployed job, as for
Glue; the command line overrides them. S3 is at AWS_ENDPOINT_URL, and Spark reads `s3://` by S3A.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from localstack import java
from localstack.emulator import RECORDER
from localstack.layout import INSTALLED, PROJECT_VENV, REGION, Failure

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

SERVERS = INSTALLED / "servers"
JARS = ("s3a", "iceberg")
DRIVER_MEMORY = "2g"
MISUSE = 2
_SIGNALLED = 128
# Arguments for Glue itself.
CONF = "--conf"
MODULES = "--extra-py-files"
SPECIAL = (CONF, MODULES, "--enable-", "--job-bookmark-", "--datalake-formats")


def main() -> int:
    """Run the job; the exit code is Spark's."""
    name, *words = sys.argv[1:] or [""]
    if not name or name.startswith("-") or len(words) % 2:
        print(__doc__.split("\n")[0], file=sys.stderr)
        return MISUSE
    try:
        return run(name, dict(zip(words[::2], words[1::2], strict=True)))
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    except (BotoCoreError, ClientError) as error:
        print(f"the local AWS cannot be reached: {error}; is it up? `make up`", file=sys.stderr)
        return 1


def run(name: str, overrides: Mapping[str, str]) -> int:
    """Fetch the files of a job into a folder of its own, submit it, and return its exit code."""
    job = boto3.client("glue", region_name=REGION).get_job(JobName=name)["Job"]
    arguments = {**job.get("DefaultArguments", {}), **overrides}
    s3 = boto3.client("s3", region_name=REGION)
    with tempfile.TemporaryDirectory(prefix="bucketcast-") as folder:
        script = _fetch(s3, str(job["Command"]["ScriptLocation"]), Path(folder))
        modules = [
            str(_fetch(s3, url, Path(folder)))
            for url in arguments.get(MODULES, "").split(",")
            if url
        ]
        command = [str(_program()), "--driver-memory", DRIVER_MEMORY]
        command += ["--jars", ",".join(map(str, _jars())), "--py-files", ",".join(modules)]
        for setting in [*arguments.get(CONF, "").split(f" {CONF} "), *_settings()]:
            command += [CONF, setting]
        command += [str(script), *_script_arguments(arguments)]
        environment = _environment(folder, name)
        code = subprocess.run(command, env=environment, check=False).returncode
        return code if code >= 0 else _SIGNALLED - code  # as a shell reports a signal


def _program() -> Path:
    program = PROJECT_VENV / "bin" / "spark-submit"
    if not program.is_file():
        raise Failure("Spark is not installed: run `make spark`, which adds a Java and jars")
    return program


def _script_arguments(arguments: Mapping[str, str]) -> list[str]:
    """Return the arguments for the script, without Glue's own."""
    pairs = [pair for pair in arguments.items() if not pair[0].startswith(SPECIAL)]
    return [word for pair in pairs for word in pair]


def _settings() -> list[str]:
    """Return the Spark settings that differ from Glue's: one machine, and the local S3."""
    provider = "software.amazon.awssdk.auth.credentials.EnvironmentVariableCredentialsProvider"
    return [
        "spark.master=local[*]",
        "spark.driver.bindAddress=127.0.0.1",
        "spark.driver.host=127.0.0.1",
        # Glue is in UTC, and times in ORC have no zone.
        f"spark.driver.extraJavaOptions={' '.join(java.QUICK)} -Duser.timezone=UTC",
        "spark.log.level=WARN",
        f"spark.default.parallelism={os.cpu_count()}",
        "spark.sql.shuffle.partitions=2",
        "spark.ui.enabled=false",
        "spark.hadoop.fs.s3.impl=org.apache.hadoop.fs.s3a.S3AFileSystem",
        f"spark.hadoop.fs.s3a.aws.credentials.provider={provider}",
        f"spark.hadoop.fs.s3a.endpoint={os.environ['AWS_ENDPOINT_URL']}",
        f"spark.hadoop.fs.s3a.endpoint.region={REGION}",
        "spark.hadoop.fs.s3a.path.style.access=true",
    ]


def _jars() -> Sequence[Path]:
    jars = []
    for name in JARS:
        found = sorted((SERVERS / name).glob("*.jar"))
        if not found:
            raise Failure(f"the jars of {name}, which Spark needs, are missing: run `make spark`")
        jars += found
    return jars


def _environment(folder: str, job: str) -> dict[str, str]:
    """Return this environment with Spark's variables; unpacked files live in the run's folder."""
    interpreter = PROJECT_VENV / "bin"
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "SPARK_HOME")
    }
    if recorder := os.environ.get(RECORDER):
        inherited |= {"PYTHONPATH": recorder, "BUCKETCAST_JOB": job}
    return inherited | {
        "JAVA_HOME": str(java.home()),
        "PATH": f"{interpreter}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "PYSPARK_PYTHON": str(interpreter / "python"),
        "TMPDIR": folder,
    }


def _fetch(s3: S3Client, url: str, folder: Path) -> Path:
    bucket, _, key = url.removeprefix("s3://").partition("/")
    path = folder / key.rpartition("/")[2]
    s3.download_file(bucket, key, str(path))
    return path


if __name__ == "__main__":
    raise SystemExit(main())
