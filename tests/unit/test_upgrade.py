"""This version reads what release 1.0.0 left in the state table, the stack and databases.

`tests/released.json` has what that release wrote, and stays as it is until a version 2.
"""

import json
from base64 import b64decode
from typing import Any

from bucketcast.deployment import read_outputs
from bucketcast.listen.aws.listeners import Table as Listeners
from bucketcast.rules import Rule
from bucketcast.state.breakers import Breakers
from bucketcast.state.counters import Counters, Counts
from bucketcast.state.dynamic_targets import Table
from bucketcast.state.rules import Rules
from bucketcast.targets.elasticsearch import index
from bucketcast.targets.mysql import sql as mysql
from bucketcast.targets.mysql.names import Names
from bucketcast.targets.postgres import sql as postgres
from bucketcast.users import User
from bucketcast.users.aws import Users
from tests.unit.conftest import Deploy
from tests.unit.samples import RELEASED

HOOK = "arn:minio:sqs::primary:webhook"


def test_the_state_table_is_read_and_changed(dynamodb: Any, state_table: str) -> None:
    for item in RELEASED["state"]:
        dynamodb.put_item(TableName=state_table, Item={key: _cell(item[key]) for key in item})
    stored = Rule(
        bucket="uploads", arn=HOOK, events=("s3:ObjectCreated:*",), prefix="photos/", suffix=".jpg"
    )
    added = Rule(bucket="uploads", arn=HOOK, events=("s3:ObjectRemoved:*",))
    rules = Rules(state_table, dynamodb)
    rules.add(added)
    assert rules.in_order("uploads") == [stored, added]
    outages = Breakers(state_table, lambda: dynamodb).read()
    assert (outages[HOOK].paused, outages[HOOK].since) == (1_800_000_000_000, 0)
    assert outages["arn:minio:sqs::audit:postgresql"].reason == "connection refused"
    assert Counters(state_table, lambda: dynamodb).read() == {HOOK: Counts(10, 2, 1)}
    assert [each.queue for each in Table(state_table, dynamodb).targets()] == [
        "Bucketcast-dynamic-topic-photos-1a2b",
        "Bucketcast-dynamic-webhook-late-1a2b",
    ]
    (topic,) = Table(state_table, dynamodb).topics("acme")
    assert (topic.owner_id, topic.endpoint) == ("u1", "https://example.org/topic")
    ann = User("u1", "ann", "acme", ("ANNSKEY",), grants={"photos-*": ("read", "notify")})
    assert Users("Bucketcast", state_table, dynamodb, None).all() == [ann]  # type: ignore[arg-type]
    (listener,) = Listeners(state_table, dynamodb).read().active(1_800_000_000_000)
    assert (listener.queue, listener.requested.prefix) == ("Bucketcast-listen-l1", "photos/")


def _cell(cell: dict[str, str]) -> dict[str, Any]:
    return {"B": b64decode(cell["B"])} if "B" in cell else cell


def test_a_newer_command_line_finds_the_stack(deploy: Deploy) -> None:
    aws = deploy()
    aws.outputs = RELEASED["outputs"]
    found = read_outputs("Bucketcast", aws)
    assert [each.function for each in found.targets] == [
        "Bucketcast-postgres-audit",
        "Bucketcast-webhook-primary",
    ]
    assert found.buckets == {"uploads": "sqs", "archive": "eventbridge"}
    assert found.access_events["uploads"] == ("s3:ObjectAccessed:Get",)
    assert set(found.dynamic.functions) == {"redis", "webhook"}
    assert found.pipeline
    assert found.pipeline.jobs["scan"] == "Bucketcast-scan"


def test_tables_are_made_as_those_that_are_there() -> None:
    """None is altered: an older one must do for all that is written now."""
    of_postgres, of_mysql = postgres.Names.of("uploads"), Names.of("uploads", "namespace")
    of_events = [index._event_mappings(time) for time in (index.RECORDS, index.CLOUDEVENTS)]
    assert RELEASED["tables"] == {
        "postgres": [
            postgres.table(of_postgres.table, "namespace"),
            postgres.table(of_postgres.table, "access"),
            postgres.guard(of_postgres),
        ],
        "mysql": [
            mysql.create(of_mysql, "namespace", mariadb=False).decode(),
            mysql.create(of_mysql, "namespace", mariadb=True).decode(),
            mysql.create(of_mysql, "access", mariadb=False).decode(),
            mysql.create_guard(of_mysql).decode(),
        ],
        "elasticsearch": [
            json.dumps(each, sort_keys=True) for each in (index._GUARD_MAPPINGS, *of_events)
        ],
    }
