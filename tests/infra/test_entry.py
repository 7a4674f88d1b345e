"""The HTTP entry: opt-in, public, and with few rights."""

import json

from tests.infra.conftest import Make

ENTRY = """
[entry.berlin]
token = "secret:entry#token"
dialect = "minio"
buckets = ["photos", "team-*"]

[entry.rgw]
token = "secret:rgw"
dialect = "ceph"
buckets = "*"
"""
NAME = "Bucketcast-entry"


def test_the_http_entry_is_off_by_default(make: Make) -> None:
    assert make("").of_type("AWS::Lambda::Url") == {}


def test_an_entry_has_a_url_that_anybody_can_reach(make: Make) -> None:
    found = make(ENTRY)
    (url,) = found.of_type("AWS::Lambda::Url").values()
    assert url["Properties"]["AuthType"] == "NONE"
    assert "FunctionUrl" in json.dumps(found.json["Outputs"]["EntryUrl"])
    allowed = [
        each
        for each in found.of_type("AWS::Lambda::Permission").values()
        if "Entry" in json.dumps(each["Properties"]["FunctionName"])
    ]
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
    read = rights['"secretsmanager:GetSecretValue"']
    assert ":secret:entry-??????" in read
    assert ":secret:rgw-??????" in read


def test_its_environment_names_the_sources_with_secrets_by_reference(make: Make) -> None:
    variables = make(ENTRY).function(NAME)["Environment"]["Variables"]
    berlin = {"dialect": "minio", "buckets": ["photos", "team-*"]}
    assert json.loads(variables["BUCKETCAST_SOURCES"]) == [
        {"name": "berlin", "token": "secret:entry#token", **berlin},
        {"name": "rgw", "token": "secret:rgw", "dialect": "ceph", "buckets": ["*"]},
    ]
    assert "IngestIngressQueue" in json.dumps(variables["BUCKETCAST_QUEUE_URL"])


def test_a_plain_token_of_a_local_deploy_is_in_no_template(make: Make) -> None:
    found = make(ENTRY.replace("secret:entry#token", "hunter2"), local=True)
    assert "hunter2" not in found.text()
    variables = found.function(NAME)["Environment"]["Variables"]
    (berlin, _) = json.loads(variables["BUCKETCAST_SOURCES"])
    assert berlin["token"] == "secret:bucketcast/entry-berlin/token"


def test_it_may_have_a_share_of_the_accounts_concurrency(make: Make) -> None:
    assert "ReservedConcurrentExecutions" not in make(ENTRY).function(NAME)
    found = make("[entry]\nreserved_concurrency = 20\n" + ENTRY)
    assert found.function(NAME)["ReservedConcurrentExecutions"] == 20
