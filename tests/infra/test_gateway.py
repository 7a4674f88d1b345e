"""The gateway behind a URL: opt-in, with no more rights than it uses."""

import json

import pytest

from tests.infra.conftest import Make
from tests.infra.resource_policies import like, listed

ON = '[gateway]\nfunction_url = "on"\n'
NAME = "Bucketcast-gateway"


def test_gateway_has_a_url_and_both_permissions(make: Make) -> None:
    found = make(ON)
    assert found.properties("AWS::Lambda::Url")["AuthType"] == "NONE"
    assert "FunctionUrl" in json.dumps(found.json["Outputs"]["GatewayUrl"])
    actions = {each["Action"] for each in found.properties_of("AWS::Lambda::Permission")}
    assert actions == {"lambda:InvokeFunctionUrl", "lambda:InvokeFunction"}


def test_gateway_environment_has_no_secret(make: Make) -> None:
    variables = make(ON).function(NAME)["Environment"]["Variables"]
    assert {name for name in variables if name.startswith("BUCKETCAST_")} == {
        "BUCKETCAST_STACK",
        "BUCKETCAST_STATE_TABLE",
    }


def test_its_concurrency_may_be_without_a_limit(make: Make) -> None:
    function = make(f"{ON}reserved_concurrency = 0\n").function(NAME)
    assert "ReservedConcurrentExecutions" not in function


@pytest.mark.parametrize(
    ("words", "buckets"),
    [("", ["logs", "uploads"]), ('buckets = "team-*"\n', ["team-*"]), ('buckets = "*"\n', ["*"])],
)
def test_it_changes_its_own_buckets_and_no_user(make: Make, words: str, buckets: list[str]) -> None:
    made = make(f"{ON}{words}[bucket.uploads]\n[bucket.logs]\n")
    (writes,) = made.allowing("GatewayAnswer", "s3:PutBucketNotification")
    named = [each["Fn::Join"][1][-1] for each in listed(writes["Resource"])]
    assert sorted(named) == [f":s3:::{name}" for name in buckets]
    (puts,) = made.allowing("GatewayAnswer", "dynamodb:PutItem")
    keys = puts["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]

    def may_write(partition: str) -> bool:
        return any(like(partition, each) for each in keys)

    assert all(may_write(name.replace("*", "a")) for name in buckets if name != "*")
    assert may_write("others") == (buckets == ["*"])
    assert may_write("#targets")
    assert not any(map(may_write, ("#users", "#breakers", "#counters")))


LISTENING = f"{ON}listen_concurrency = 10\n"
LISTEN = "Bucketcast-listen"


def test_listening_is_off_unless_it_is_configured(make: Make) -> None:
    found = make(ON)
    assert "ListenUrl" not in found.json["Outputs"]
    assert len(found.of_type("AWS::Lambda::Url")) == 1
    assert "BUCKETCAST_LISTEN_URL" not in found.function(NAME)["Environment"]["Variables"]


def test_listeners_function_is_small_and_has_executions_of_its_own(make: Make) -> None:
    found = make(LISTENING)
    function = found.function(LISTEN)
    assert (function["MemorySize"], function["ReservedConcurrentExecutions"]) == (256, 10)
    assert function["Environment"]["Variables"]["BUCKETCAST_LISTENERS"] == "5"
    gateway = found.function(NAME)["Environment"]["Variables"]
    assert "BUCKETCAST_LISTENERS" not in gateway
    url = found.json["Outputs"]["ListenUrl"]["Value"]
    assert gateway["BUCKETCAST_LISTEN_URL"] == url
    assert url != found.json["Outputs"]["GatewayUrl"]["Value"]


def test_the_queues_of_listeners_are_for_the_function_that_reads_them(make: Make) -> None:
    readers = [
        policy["Roles"][0]["Ref"]
        for policy in make(LISTENING).properties_of("AWS::IAM::Policy")
        for statement in policy["PolicyDocument"]["Statement"]
        if "sqs:ReceiveMessage" in statement["Action"]
        and "-listen-*" in json.dumps(statement["Resource"])
    ]
    assert [role.partition("Role")[0] for role in readers] == ["GatewayListen"]
