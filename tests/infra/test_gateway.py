"""The gateway behind a URL: opt-in, with no more rights than it uses."""

import json

from tests.infra.conftest import Make

ON = '[gateway]\nfunction_url = "on"\n'
NAME = "Bucketcast-gateway"


def test_there_is_none_unless_it_is_asked_for(make: Make) -> None:
    assert make("").of_type("AWS::Lambda::Url") == {}


def test_it_has_a_url_and_both_permissions_that_a_url_needs(make: Make) -> None:
    found = make(ON)
    (url,) = found.of_type("AWS::Lambda::Url").values()
    assert url["Properties"]["AuthType"] == "NONE"
    assert "FunctionUrl" in json.dumps(found.json["Outputs"]["GatewayUrl"])
    allowed = found.of_type("AWS::Lambda::Permission").values()
    actions = {each["Properties"]["Action"] for each in allowed}
    assert actions == {"lambda:InvokeFunctionUrl", "lambda:InvokeFunction"}


def test_it_outlives_the_longest_wait_of_its_calls(make: Make) -> None:
    """Changes of a bucket or of a dynamic target wait up to a minute, more than once."""
    assert make(ON).function(NAME)["Timeout"] == 300


def test_its_environment_names_the_deployment_and_no_secret(make: Make) -> None:
    variables = make(ON).function(NAME)["Environment"]["Variables"]
    assert {name for name in variables if name.startswith("BUCKETCAST_")} == {
        "BUCKETCAST_STACK",
        "BUCKETCAST_STATE_TABLE",
    }
