"""The consumer in examples/ prints what the target wrote."""

from collections.abc import Callable
from typing import cast

import pytest

from bucketcast.settings.options import read
from bucketcast.targets.mysql import Target
from tests.contract.consumers import PUT, check_that_consumer_waits, consumer, words
from tests.contract.trial import DELETE, event
from tests.servers import Server
from tests.servers.mysql import DATABASE, PASSWORD, USER, MysqlServer

LOGIN = {"MYSQL_USER": USER, "MYSQL_PWD": PASSWORD}


@pytest.fixture
def mysql(server: Callable[[str], Server]) -> MysqlServer:
    return cast("MysqlServer", server("mysql"))


@pytest.mark.parametrize(
    ("form", "seen"),
    [
        ("namespace", ["gone", "uploads/a", "b.jpg"]),
        ("access", ["2026-01-02T03:00:00.002Z", "s3:ObjectRemoved:Delete", "uploads/a", "b.jpg"]),
    ],
)
def test_the_mysql_consumer_prints_what_is_there_and_what_changes(
    mysql: MysqlServer, form: str, seen: list[str]
) -> None:
    with Target(read(Target.Settings, mysql.settings(format=form))) as target:
        assert target.send([event("a b.jpg", 1)]) == {}
        with consumer("mysql", mysql.address, DATABASE, mysql.destination, **LOGIN) as program:
            assert words(program) == PUT
            assert target.send([event("a b.jpg", 2, DELETE)]) == {}
            assert words(program)[: len(seen)] == seen


@pytest.mark.parametrize("form", ["namespace", "access"])
def test_the_consumer_waits_for_the_table(mysql: MysqlServer, form: str) -> None:
    arguments = (mysql.address, DATABASE, mysql.destination)
    check_that_consumer_waits("mysql", mysql, *arguments, format_=form, **LOGIN)
