"""Fetch each suite with its package manager, unchanged, and run it against an S3 endpoint.

A suite returns its tests by name, with "" for one that passed, else why it did not.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from localstack.layout import AWS_CLI_VENV, INSTALLED, REGION

Results = dict[str, str]
HERE = Path(__file__).parent
GO_MODULES = HERE.parent / "servers" / "go"
RUN_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class Server:
    """An S3 endpoint and a user's keys; a gateway's user has a bucket and a topic."""

    url: str
    access_key: str
    secret_key: str
    bucket: str = ""
    topic: str = ""


def minio_py(server: Server, folder: Path) -> Results:
    """The suite is in the source archive of the version that is installed here."""
    name = f"minio-{version('minio')}"
    archive = f"minio=={version('minio')}"
    options = ["--quiet", "--no-deps", "--no-binary", "minio", "--dest", str(folder)]
    _run([sys.executable, "-m", "pip", "download", *options, archive], folder)
    with tarfile.open(folder / f"{name}.tar.gz") as packed:
        packed.extractall(folder, filter="data")
    suite = folder / name / "tests" / "functional" / "tests.py"
    return _mint(_run([sys.executable, str(HERE / "minio_py.py"), str(suite)], folder, server))


def minio_go(server: Server, folder: Path) -> Results:
    module = _go_module("minio-go", "github.com/minio/minio-go/v7")
    program = str(folder / "functional_tests")
    build = ["go", "build", "-buildvcs=false", "-o", program, str(module / "functional_tests.go")]
    _run(build, GO_MODULES / "minio-go")
    return _mint(_run([program], folder, server))


def mc(server: Server, folder: Path) -> Results:
    module = _go_module("mc", "github.com/minio/mc")
    shutil.copy(INSTALLED / "servers" / "mc" / "mc", folder)
    script = [str(HERE / "mc.sh"), str(module / "functional-tests.sh")]
    # As mint it would leave the test of `mc watch` out.
    printed = _run(["bash", *script], folder, server, MINT_MODE="")
    results = {}
    for line in printed.splitlines():
        status, _, rest = line.partition(" ")
        name, _, message = rest.partition(" ")
        if status in ("PASS", "FAIL"):
            results[name] = message or "no message" if status == "FAIL" else ""
    return results


def aws_cli(server: Server, folder: Path) -> Results:
    """Commands of the AWS CLI, one after another: there is no suite of it."""
    files = folder / "files"
    files.mkdir()
    (files / "small").write_bytes(b"x" * 1_000)
    (files / "large").write_bytes(os.urandom(20 << 20))
    results = {}
    for line in (HERE / "aws-cli.txt").read_text("utf-8").splitlines():
        words = line.format(bucket="cli-suite", topic=server.topic).split()
        ran = subprocess.run(
            [str(AWS_CLI_VENV / "bin" / "aws"), "--endpoint-url", server.url, *words],
            env=_environment(server),
            cwd=files,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        results[line] = "" if ran.returncode == 0 else ran.stderr.strip()
    return results


SUITES: Mapping[str, Callable[[Server, Path], Results]] = {
    "mc": mc,
    "minio-py": minio_py,
    "minio-go": minio_go,
    "aws-cli": aws_cli,
}


def _go_module(program: str, module: str) -> Path:
    """Return the folder of the version of a module that `go.mod` names."""
    listed = _run(["go", "mod", "download", "-json", module], GO_MODULES / program)
    return Path(json.loads(listed)["Dir"])


def _mint(printed: str) -> Results:
    """Return the results of a suite that prints a line of JSON for each test.

    A test that prints several lines has failed if one says so.
    """
    results: Results = {}
    for line in printed.splitlines():
        result = json.loads(line) if line.startswith("{") else {}
        if "status" in result:
            name = result["name"].rpartition(":")[2].strip()
            words = (result.get(key) for key in ("status", "alert", "message", "error"))
            message = " ".join(str(word) for word in words if word)
            passed = result["status"] == "PASS"
            results[name] = results.get(name) or ("" if passed else message)
    return results


def _run(command: Sequence[str], folder: Path, server: Server | None = None, **more: str) -> str:
    """Return what a command printed; one that fails without a server is an error."""
    ran = subprocess.run(
        command,
        cwd=folder,
        env=_environment(server) | more if server else None,
        stdout=subprocess.PIPE,
        text=True,
        check=server is None,
        timeout=RUN_SECONDS,
    )
    return ran.stdout


def _environment(server: Server) -> dict[str, str]:
    """Return the variables of MinIO's suites, which are its mint's, and the AWS CLI's."""
    foreign = ("AWS_", "MC_", "MINIO_")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(foreign)}
    _, _, service, region, tenant, name = server.topic.split(":") if server.topic else [""] * 6
    return kept | {
        "MINT_MODE": "full",
        "RUN_ON_FAIL": "1",
        "SERVER_ENDPOINT": server.url.removeprefix("http://"),
        "ENABLE_HTTPS": "0",
        "ACCESS_KEY": server.access_key,
        "SECRET_KEY": server.secret_key,
        "NOTIFY_BUCKET": server.bucket,
        "NOTIFY_SERVICE": service,
        "NOTIFY_REGION": region,
        "NOTIFY_ACCOUNTID": tenant,
        "NOTIFY_RESOURCE": name,
        "AWS_ACCESS_KEY_ID": server.access_key,
        "AWS_SECRET_ACCESS_KEY": server.secret_key,
        "AWS_DEFAULT_REGION": REGION,
    }
