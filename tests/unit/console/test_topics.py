"""Topics and dynamic targets are listed, opened, added and removed."""

import json

import pytest
from msgspec.structs import asdict

from bucketcast.destination import TopicArn
from bucketcast.rules import Rule
from bucketcast.state.rules import Rules
from bucketcast.topics.attributes import parse_attributes
from bucketcast.topics.aws.topics import DesiredTopic, topics_of
from tests.unit.console.site import Site
from tests.unit.dynamic_targets.account import DYNAMIC, make_functions
from tests.unit.moto_aws import TABLE, MotoAws

LOGIN = {"push-endpoint": "https://u:hunter2@h/x", "persistent": "true", "OpaqueData": "<me>"}
ARN = "arn:aws:sns:r:acme:b"
WEBHOOK = {"kind": "webhook", "id": "audit", "endpoint": "http://h"}


@pytest.fixture
def aws(aws: MotoAws) -> MotoAws:
    aws.outputs["DynamicTargetsOutput"] = json.dumps(asdict(DYNAMIC))
    make_functions(aws.client("iam"), aws.mappings)
    return aws


@pytest.fixture
def topic(aws: MotoAws) -> str:
    attributes = parse_attributes(LOGIN)
    topics = topics_of("Bucketcast", TABLE, aws)
    made = topics.put(TopicArn("r", "acme", "b"), lambda *_: DesiredTopic("bob", attributes))
    Rules(TABLE, aws.dynamodb).add(Rule(bucket="uploads", arn=made.arn, events=("put",)))
    return made.arn


def test_a_topic_is_listed_and_opens_without_its_password(site: Site, topic: str) -> None:
    listed = site.get("/topics").text
    assert f'<a href="/topics/{topic}">{topic}</a>' in listed
    cells = {"owner": "acme$bob", "endpoint": "https://h/x", "persistent": "yes"}
    for name, cell in cells.items():
        assert f'<td data-label="{name}">{cell}</td>' in listed
    opened = site.get(f"/topics/{topic}")
    assert "<dt>dead letters</dt><dd>0</dd>" in opened.text
    assert '<a href="/buckets/uploads">uploads</a>' in opened.text
    assert f"bucketcast topic get {topic}" in opened.text
    assert "&lt;me&gt;" in opened.body
    assert "hunter2" not in opened.body + listed
    assert site.get("/topics/nothing").status == 400


def test_a_topic_is_removed_after_a_question(site: Site, topic: str) -> None:
    question = site.get(f"/topics/{topic}/remove").text
    assert "all events that wait in it?" in question
    assert f"bucketcast topic rm {topic}" in question
    assert topic in site.get("/topics").text
    assert site.post(f"/topics/{topic}/remove").headers["location"] == "/topics"
    assert "no topics found" in site.get("/topics").text


def test_a_target_is_added_used_and_removed(site: Site) -> None:
    form = site.get("/dynamic-targets/add?kind=webhook").body
    assert 'name="endpoint" aria-describedby="about-endpoint" required' in form
    assert 'name="auth_token" aria-describedby="about-auth_token" type="password"' in form
    added = site.post("/dynamic-targets/add", **WEBHOOK, auth_token="hunter2")
    assert added.status == 303, added.text
    page = site.get(added.headers["location"]).text
    assert '<a href="/targets/webhook:audit">webhook:audit</a>' in page
    assert "note: " in page
    assert "endpoint: is http://" in page
    assert "hunter2" not in page
    question = site.get("/dynamic-targets/webhook:audit/remove").text
    assert "bucketcast target rm webhook:audit" in question
    assert "webhook:audit" in site.get("/topics").text
    site.post("/dynamic-targets/webhook:audit/remove", discard="on")
    assert "no dynamic targets" in site.get("/topics").text


def test_wrong_settings_stand_at_their_fields_and_secrets_are_not_repeated(site: Site) -> None:
    wrong = WEBHOOK | {"endpoint": "h", "timeout": "soon", "auth_token": "hunter2"}
    answer = site.post("/dynamic-targets/add", **wrong)
    assert answer.status == 400
    for field, found in (("endpoint", "found 'h'"), ("timeout", "found 'soon'")):
        assert found in answer.text.split(f'id="about-{field}"')[1].split("</p>")[0]
    assert 'value="soon"' in answer.text
    assert "hunter2" not in answer.text
    bad_id = site.post("/dynamic-targets/add", **WEBHOOK | {"id": "a.b"}).text
    assert "found the id 'a.b'" in bad_id.split('id="about-id"')[1].split("</p>")[0]
    assert "no dynamic targets" in site.get("/topics").text


@pytest.mark.parametrize(
    ("address", "status", "problem"),
    [
        ("/dynamic-targets/add?kind=nats", 404, "no function for dynamic targets of kind nats"),
        ("/dynamic-targets/add", 404, "no function"),
    ],
)
def test_a_kind_that_the_stack_lacks_is_named(
    site: Site, address: str, status: int, problem: str
) -> None:
    answer = site.get(address)
    assert (answer.status, problem in answer.text) == (status, True)


def test_a_target_of_the_configuration_is_not_removed(site: Site) -> None:
    answer = site.post("/dynamic-targets/webhook:primary/remove")
    assert (answer.status, "is in bucketcast.toml" in answer.text) == (400, True)
