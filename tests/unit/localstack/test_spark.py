"""A job that runs here: Glue and S3 provide its parts, the command line overrides its arguments."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest

from localstack import java, spark

JOB = {
    "Command": {"ScriptLocation": "s3://assets/abc.py"},
    "DefaultArguments": {
        "--conf": "spark.sql.session.timeZone=UTC --conf spark.sql.ansi.enabled=true",
        "--extra-py-files": "s3://assets/def.zip",
        "--enable-metrics": "true",
        "--job-bookmark-option": "job-bookmark-disable",
        "--ingress": "http://queue",
        "--state": "s3://pipeline/alerts",
    },
}


@pytest.fixture
def submit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A spark-submit that records its arguments and environment in the returned file."""
    record = tmp_path / "record.json"
    program = tmp_path / "bin" / "spark-submit"
    program.parent.mkdir()
    program.write_text(
        "#!/usr/bin/env python3\nimport json, os, sys\n"
        f"json.dump([sys.argv[1:], dict(os.environ)], open({str(record)!r}, 'w'))\n"
    )
    program.chmod(0o755)
    for name in spark.JARS:
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.jar").touch()
    monkeypatch.setattr(spark, "PROJECT_VENV", tmp_path)
    monkeypatch.setattr(spark, "SERVERS", tmp_path)
    monkeypatch.setattr(java, "home", lambda: Path("/java"))
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:4566")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "0pen-sesame")
    monkeypatch.setenv("PYTHONPATH", "/the/checkout")
    monkeypatch.setattr(boto3, "client", _client)
    return record


def _client(service: str, **_: Any) -> Any:
    if service == "glue":
        return SimpleNamespace(get_job=lambda JobName: {"Job": JOB})  # noqa: ARG005, N803
    return SimpleNamespace(download_file=lambda _, key, path: Path(path).write_text(key))


def test_arguments_override_the_defaults_of_the_job(submit: Path) -> None:
    assert spark.run("Bucketcast-scan", {"--bucket": "uploads", "--state": "s3://mine"}) == 0
    words, environment = json.loads(submit.read_text())
    script = next(index for index, word in enumerate(words) if word.endswith("/abc.py"))
    assert words[script + 1 :] == [
        *("--ingress", "http://queue"),
        *("--state", "s3://mine"),
        *("--bucket", "uploads"),
    ]
    before = words[:script]
    assert "spark.sql.session.timeZone=UTC" in before
    assert "spark.sql.ansi.enabled=true" in before
    assert "spark.hadoop.fs.s3a.endpoint=http://127.0.0.1:4566" in before
    assert before[before.index("--py-files") + 1].endswith("/def.zip")
    assert "0pen-sesame" not in " ".join(words)
    assert "PYTHONPATH" not in environment  # else the checkout's code would run, and not the zip's
