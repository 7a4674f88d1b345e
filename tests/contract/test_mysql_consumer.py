"""The consumer in examples/ prints what the target wrote."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from bucketcast.settings.options import read
from bucketcast.targets.mysql import Target
from tests.contract.trial import DELETE, bounded, event
from tests.servers import Server
from tests.servers.mysql import DATABASE, PASSWORD, USER, MysqlServer

CONSUMER = Path(__file__).parents[2] / "examples" / "consumers" / "mysql.py"
LOGIN = {"MYSQL_USER": USER, "MYSQL_PWD": PASSWORD, "PYTHONIOENCODING": "utf-8"}
PUT = ["2026-01-02T03:00:00.001Z", "s3:ObjectCreated:Put", "uploads/a", "b.jpg", "1"]


@pytest.mark.parametrize(
    ("form", "seen"),
    [
        ("namespace", ["gone", "uploads/a", "b.jpg"]),
        ("access", ["2026-01-02T03:00:00.002Z", "s3:ObjectRemoved:Delete", "uploads/a", "b.jpg"]),
    ],
)
def test_the_mysql_consumer_prints_what_is_there_and_what_changes(
    server: Callable[[str], Server], form: str, seen: list[str]
) -> None:
    mysql = cast("MysqlServer", server("mysql"))
    command = [sys.executable, str(CONSUMER), mysql.address, DATABASE, mysql.destination]
    environment = {**os.environ, **LOGIN}
    with Target(read(Target.Settings, mysql.settings(format=form))) as target:
        assert target.send([event("a b.jpg", 1)]) == {}
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        ) as program:
            assert program.stdout is not None
            try:
                first = bounded(program.stdout.readline)
                assert target.send([event("a b.jpg", 2, DELETE)]) == {}
                second = bounded(program.stdout.readline)
            finally:
                program.terminate()
    assert first.split() == PUT
    assert second.split()[: len(seen)] == seen
