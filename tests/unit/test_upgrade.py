"""This version reads what release 1.0.0 left in the state table, the stack and databases.

`tests/released.json` has what that release wrote, and stays as it is until a version 2.
"""

import json
from base64 import b64decode
from typing import Any

import msgspec

from bucketcast.deployment import read_outputs
from bucketcast.listen.aws.listeners import Table as Listeners
from bucketcast.state.breakers import Breakers
from bucketcast.state.counters import Counters
from bucketcast.state.dynamic_targets import Table
from bucketcast.state.rules import Rules
from bucketcast.targets.elasticsearch import index
from bucketcast.targets.mysql import sql as mysql
from bucketcast.targets.mysql.names import Names
from bucketcast.targets.postgres import sql as postgres
from bucketcast.users.aws import Users
from tests.unit.conftest import Deploy
from tests.unit.moto_aws import client
from tests.unit.samples import RELEASED


def test_the_state_table_is_read_and_changed(dynamodb: Any, state_table: str) -> None:
    for item in RELEASED["state"]:
        dynamodb.put_item(TableName=state_table, Item={key: _cell(item[key]) for key in item})
    rules = Rules(state_table, dynamodb)
    topics_and_targets = Table(state_table, dynamodb)
    read = {
        "rules": rules.in_order("uploads"),
        "outages": Breakers(state_table, lambda: dynamodb).read(),
        "counts": Counters(state_table, lambda: dynamodb).read(),
        "targets": topics_and_targets.targets(),
        "topics": [*topics_and_targets.topics("acme")],
        "users": Users("Bucketcast", state_table, dynamodb, client("secretsmanager")).all(),
        "listeners": Listeners(state_table, dynamodb).read().listeners,
    }
    assert json.loads(msgspec.json.encode(read)) == RELEASED["read"]
    rules.remove(rules.of("uploads"))
    assert rules.of("uploads") == []


def _cell(cell: dict[str, str]) -> dict[str, Any]:
    return {"B": b64decode(cell["B"])} if "B" in cell else cell


def test_a_newer_command_line_finds_the_stack(deploy: Deploy) -> None:
    aws = deploy()
    aws.outputs = RELEASED["outputs"]
    found = read_outputs("Bucketcast", aws)
    assert [each.name for each in found.targets] == ["postgres:audit", "webhook:primary"]
    assert found.buckets == {"uploads": "sqs", "archive": "eventbridge"}
    assert found.access_events["uploads"] == ("s3:ObjectAccessed:Get",)
    assert set(found.dynamic.functions) == {"redis", "webhook"}
    assert found.pipeline
    assert found.pipeline.jobs["scan"] == "Bucketcast-scan"


def test_guards_are_made_as_those_that_are_there() -> None:
    """None is altered: an older one must do for all that is written now."""
    assert RELEASED["tables"] == {
        "postgres": postgres.guard(postgres.Names.of("uploads")),
        "mysql": mysql.create_guard(Names.of("uploads", "namespace")).decode(),
        "elasticsearch": index._GUARD_MAPPINGS,
    }
