"""The HTTP entry: there where it is configured, open to the net, and with few rights."""

import json

from tests.infra.conftest import Make

ENTRY = '[entry]\ntoken = "secret:entry#token"\n'
NAME = "Bucketcast-entry"


def test_there_is_no_entry_unless_it_is_asked_for(make: Make) -> None:
    assert make("").of_type("AWS::Lambda::Url") == {}


def test_an_entry_has_a_url_that_anybody_can_reach(make: Make) -> None:
    found = make(ENTRY)
    (url,) = found.of_type("AWS::Lambda::Url").values()
    assert url["Properties"]["AuthType"] == "NONE"
    assert "FunctionUrl" in json.dumps(found.json["Outputs"]["EntryUrl"])
    allowed = found.of_type("AWS::Lambda::Permission").values()
    assert {each["Properties"]["Principal"] for each in allowed} == {"*"}
    assert "lambda:InvokeFunctionUrl" in {each["Properties"]["Action"] for each in allowed}


def test_it_may_write_to_the_ingress_queue_and_read_its_own_secret(make: Make) -> None:
    found = make(ENTRY)
    rights = {
        json.dumps(statement["Action"]): json.dumps(statement["Resource"])
        for policy, statement in found.statements()
        if policy.startswith("EntryTake") and "logs:" not in json.dumps(statement["Action"])
    }
    assert rights.keys() == {'"sqs:SendMessage"', '"secretsmanager:GetSecretValue"'}
    assert "IngestIngressQueue" in rights['"sqs:SendMessage"']
    assert ":secret:entry-??????" in rights['"secretsmanager:GetSecretValue"']


def test_it_is_told_its_secret_by_reference(make: Make) -> None:
    variables = make(ENTRY).function(NAME)["Environment"]["Variables"]
    assert variables["BUCKETCAST_TOKEN"] == "secret:entry#token"
    assert "IngestIngressQueue" in json.dumps(variables["BUCKETCAST_QUEUE_URL"])


def test_a_plain_token_of_a_local_deploy_is_in_no_template(make: Make) -> None:
    found = make('[entry]\ntoken = "hunter2"\n', local=True)
    assert "hunter2" not in found.text()
    variables = found.function(NAME)["Environment"]["Variables"]
    assert variables["BUCKETCAST_TOKEN"] == "secret:bucketcast/entry/token"
