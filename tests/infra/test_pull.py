"""What the stack has for subscriptions: a table that forgets, a queue, and few rights."""

from typing import Any

import pytest

from tests.infra.conftest import Make, Synthesised

ON = '[runtime]\nkinds = ["webhook"]\n[topics]\npull = "on"\nevents_retention_days = 3\n'
BARE = '[runtime]\nkinds = ["webhook"]\n'


@pytest.fixture(scope="module")
def made(make: Make) -> Synthesised:
    return make(ON)


def tables(made: Synthesised) -> list[Any]:
    found = made.of_type("AWS::DynamoDB::Table").values()
    return [each for each in found if "subscription" in str(each["Properties"]["KeySchema"])]


def test_there_is_nothing_of_it_where_it_is_not_asked_for(make: Make) -> None:
    bare = make(BARE)
    assert tables(bare) == []
    named = [each["Properties"] for each in bare.of_type("AWS::Lambda::Function").values()]
    assert "Bucketcast-runtime-pull" not in [each.get("FunctionName") for each in named]


def test_the_table_forgets_and_outlives_the_stack(made: Synthesised) -> None:
    (table,) = tables(made)
    assert table["DeletionPolicy"] == "RetainExceptOnCreate"
    properties = table["Properties"]
    assert properties["TimeToLiveSpecification"] == {"AttributeName": "expires", "Enabled": True}
    keys = [(each["AttributeName"], each["KeyType"]) for each in properties["KeySchema"]]
    assert keys == [("subscription", "HASH"), ("event", "RANGE")]
    assert properties["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"]


def test_the_function_stores_events_and_may_no_more(made: Synthesised) -> None:
    function = made.function("Bucketcast-runtime-pull")
    assert function["Handler"] == "functions.startup.handler"
    assert function["Environment"]["Variables"]["BUCKETCAST_HANDLER"] == "functions.dispatch.pull"
    assert '"events_retention_days":3' in function["Environment"]["Variables"]["BUCKETCAST_TOPICS"]
    actions = {
        action
        for role, statement in made.statements()
        if role.startswith("RuntimePull")
        for action in listed(statement["Action"])
        if action.startswith("dynamodb:")
    }
    assert actions == {"dynamodb:BatchWriteItem", "dynamodb:GetItem"}


def test_the_queue_has_dead_letters_and_alarms(made: Synthesised) -> None:
    queues = [each["Properties"] for each in made.of_type("AWS::SQS::Queue").values()]
    (queue,) = [each for each in queues if each.get("QueueName") == "Bucketcast-runtime-pull"]
    assert queue["RedrivePolicy"]["maxReceiveCount"] == 1_000
    alarms = [
        each["Properties"]["AlarmName"] for each in made.of_type("AWS::CloudWatch::Alarm").values()
    ]
    assert "runtime-pull-dead" in str(alarms)


def listed(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]
