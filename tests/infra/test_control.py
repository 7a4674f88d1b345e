"""The control plane behind a URL: opt-in, with no more rights than it uses."""

import json

from tests.infra.conftest import Make

ON = 'control = "on"\n'
NAME = "Bucketcast-control"


def test_there_is_none_unless_it_is_asked_for(make: Make) -> None:
    assert make("").of_type("AWS::Lambda::Url") == {}


def test_it_has_a_url_and_both_permissions_that_a_url_needs(make: Make) -> None:
    found = make(ON)
    (url,) = found.of_type("AWS::Lambda::Url").values()
    assert url["Properties"]["AuthType"] == "NONE"
    assert "FunctionUrl" in json.dumps(found.json["Outputs"]["ControlUrl"])
    allowed = found.of_type("AWS::Lambda::Permission").values()
    actions = {each["Properties"]["Action"] for each in allowed}
    assert actions == {"lambda:InvokeFunctionUrl", "lambda:InvokeFunction"}


def test_it_may_do_what_its_calls_need(make: Make) -> None:
    rights: dict[str, str] = {}
    alone = ON + '[runtime]\nkinds = "off"\n'
    for policy, statement in make(alone).statements():
        if policy.startswith("ControlAnswer"):
            actions = statement["Action"]
            for action in [actions] if isinstance(actions, str) else actions:
                rights[action] = json.dumps(statement["Resource"])
    services = {action.partition(":")[0] for action in rights} - {"logs"}
    assert services == {"cloudformation", "dynamodb", "events", "s3", "secretsmanager", "sqs"}
    assert ":secret:Bucketcast/users/*" in rights["secretsmanager:GetSecretValue"]
    assert "IngestRules" in rights["dynamodb:PutItem"]
    assert "rule/Bucketcast-attached-*" in rights["events:DeleteRule"]
    assert "s3:GetObject" not in rights


def test_it_may_have_reads_logged_where_there_is_a_trail(make: Make) -> None:
    read = ON + '[bucket.uploads]\naccess_events = "on"\n'
    (resource,) = (
        statement["Resource"]
        for policy, statement in make(read).statements()
        if policy.startswith("ControlAnswer")
        and "cloudtrail:PutEventSelectors" in statement["Action"]
    )
    assert "AccessTrail" in json.dumps(resource)


def test_it_outlives_the_longest_wait_of_its_calls(make: Make) -> None:
    """Changes of a bucket's wiring or of a run-time target wait up to a minute, more than once."""
    assert make(ON).function(NAME)["Timeout"] == 300


def test_its_environment_names_the_deployment_and_no_secret(make: Make) -> None:
    variables = make(ON).function(NAME)["Environment"]["Variables"]
    assert {name for name in variables if name.startswith("BUCKETCAST_")} == {
        "BUCKETCAST_STACK",
        "BUCKETCAST_RULES_TABLE",
    }
