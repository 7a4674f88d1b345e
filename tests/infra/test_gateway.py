"""The gateway behind a URL: opt-in, with no more rights than it uses."""

import json

from tests.infra.conftest import Make

ON = '[gateway]\nfunction_url = "on"\n'
NAME = "Bucketcast-gateway"


def test_gateway_has_a_url_and_both_permissions(make: Make) -> None:
    found = make(ON)
    (url,) = found.of_type("AWS::Lambda::Url").values()
    assert url["Properties"]["AuthType"] == "NONE"
    assert "FunctionUrl" in json.dumps(found.json["Outputs"]["GatewayUrl"])
    allowed = found.of_type("AWS::Lambda::Permission").values()
    actions = {each["Properties"]["Action"] for each in allowed}
    assert actions == {"lambda:InvokeFunctionUrl", "lambda:InvokeFunction"}


def test_gateway_environment_has_no_secret(make: Make) -> None:
    variables = make(ON).function(NAME)["Environment"]["Variables"]
    assert {name for name in variables if name.startswith("BUCKETCAST_")} == {
        "BUCKETCAST_STACK",
        "BUCKETCAST_STATE_TABLE",
    }


def test_its_concurrency_may_be_limited(make: Make) -> None:
    """Anybody may call its URL, and would use up the account's."""
    function = make(ON).properties("AWS::Lambda::Function", FunctionName=NAME)
    assert "ReservedConcurrentExecutions" not in function
    limited = make(f"{ON}reserved_concurrency = 5\n")
    function = limited.properties("AWS::Lambda::Function", FunctionName=NAME)
    assert function["ReservedConcurrentExecutions"] == 5


LISTENING = f"{ON}listen_concurrency = 10\n"
LISTEN = "Bucketcast-listen"


def test_listening_is_off_unless_it_is_configured(make: Make) -> None:
    found = make(ON)
    assert "ListenUrl" not in found.json["Outputs"]
    assert len(found.of_type("AWS::Lambda::Url")) == 1
    assert "BUCKETCAST_LISTEN_URL" not in found.function(NAME)["Environment"]["Variables"]


def test_listeners_function_is_small_and_has_executions_of_its_own(make: Make) -> None:
    found = make(LISTENING)
    function = found.properties("AWS::Lambda::Function", FunctionName=LISTEN)
    assert (function["MemorySize"], function["ReservedConcurrentExecutions"]) == (256, 10)
    assert function["Environment"]["Variables"]["BUCKETCAST_LISTENERS"] == "on"
    gateway = found.function(NAME)["Environment"]["Variables"]
    assert "BUCKETCAST_LISTENERS" not in gateway
    url = found.json["Outputs"]["ListenUrl"]["Value"]
    assert gateway["BUCKETCAST_LISTEN_URL"] == url
    assert url != found.json["Outputs"]["GatewayUrl"]["Value"]


def test_the_queues_of_listeners_are_for_the_function_that_reads_them(make: Make) -> None:
    readers = [
        policy["Properties"]["Roles"][0]["Ref"]
        for policy in make(LISTENING).of_type("AWS::IAM::Policy").values()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if "sqs:ReceiveMessage" in statement["Action"]
        and "-listen-*" in json.dumps(statement["Resource"])
    ]
    assert [role.partition("Role")[0] for role in readers] == ["GatewayListen"]
