"""Topics and dynamic targets are listed, opened, added and removed, each on its page."""

import re

import pytest

from bucketcast.rules import Rule
from tests.unit.console.site import Site
from tests.unit.dynamic_targets.account import add_dynamic_targets, put_topic
from tests.unit.moto_aws import MotoAws

LOGIN = {"push-endpoint": "https://u:hunter2@h/x", "persistent": "true", "OpaqueData": "<me>"}


@pytest.fixture
def aws(aws: MotoAws) -> MotoAws:
    add_dynamic_targets(aws)
    aws.answers["Bucketcast-dynamic-webhook"] = {"online": True, "why": "", "where": "h"}
    return aws


@pytest.fixture
def topic(aws: MotoAws) -> str:
    made = put_topic(aws, "b", LOGIN, "acme", "bob")
    aws.rules.add(Rule(bucket="uploads", arn=made.arn, events=("put",)))
    return made.arn


def test_a_topic_is_listed_and_opens_without_its_password(topic: str, site: Site) -> None:
    listed = site.without("being checked", "/topics").text
    assert f'<a href="/topics/{topic}">{topic}</a>' in listed
    cells = {"owner": "acme$bob", "endpoint": "https://h/x", "persistent": "yes"}
    cells |= {"state": "online"}
    for name, cell in cells.items():
        assert re.search(f'<td data-label="{name}">(<span[^>]*>)?{re.escape(cell)}<', listed)
    opened = site.get(f"/topics/{topic}")
    assert "0 messages in the dead-letter queue" in opened.text
    assert "subscribed_buckets: uploads" in opened.text
    assert f"bucketcast topic get {topic}" in opened.text
    assert "&lt;me&gt;" in opened.body
    assert "hunter2" not in opened.body + listed
    for name in ("nothing", "--help", "--stack=other"):
        assert site.get(f"/topics/{name}").status == 400


@pytest.mark.parametrize(
    ("attributes", "state"),
    [
        ({"persistent": "true"}, "no endpoint"),
        ({"push-endpoint": "http://h/"}, "pushed once"),
    ],
)
def test_a_topic_without_a_queue_opens_too(
    site: Site, aws: MotoAws, attributes: dict[str, str], state: str
) -> None:
    made = put_topic(aws, "c", attributes)
    assert f">{state}<" in site.get("/topics").text
    assert site.get(f"/topics/{made.arn}").status == 200


def test_a_topic_is_removed_after_a_question(site: Site, topic: str) -> None:
    question = site.get(f"/changes/remove-topic?name={topic}").text
    assert "Delete a topic, its queue and the events in it?" in question
    assert f"{topic}, named by 1 rule:" in question
    assert topic in site.get("/topics").text
    assert site.post("/changes/remove-topic", name=topic).headers["location"] == "/topics"
    assert "no topics found" in site.get("/topics").text


def test_a_target_is_added_and_removed(site: Site, aws: MotoAws) -> None:
    settings = "endpoint=http://h\r\nauth_token=hunter2"
    added = site.post("/changes/add-target", arn="webhook:audit", settings=settings)
    assert added.status == 303, added.text
    page = site.get(added.headers["location"]).text
    assert "note: " in page
    assert "endpoint: is http://" in page
    assert "hunter2" not in page
    assert "webhook:audit" not in site.get("/topics").text
    own = site.get("/targets/webhook:audit").text
    for change in ("set-target?arn=webhook%3Aaudit", "remove-target?arn=webhook%3Aaudit"):
        assert f'href="/changes/{change}"' in own
    assert "/changes/remove-target" not in site.get("/targets/webhook:primary").text
    aws.rules.add(Rule(bucket="uploads", arn="arn:minio:sqs::audit:webhook", events=("put",)))
    question = site.get("/changes/remove-target?arn=webhook:audit").text
    assert "bucketcast target rm webhook:audit" in question
    assert "webhook:audit, named by 1 rule:" in question
    assert "named by" not in site.get("/changes/remove-target?arn=webhook:other").text
    removed = site.post("/changes/remove-target", arn="webhook:audit", discard="on", rules="on")
    assert aws.rules.all() == []
    assert removed.headers["location"] == "/"
    assert site.get("/targets/webhook:audit").status == 400


@pytest.mark.parametrize(
    ("target", "settings", "field", "problem"),
    [
        ("webhook:audit", "endpoint=h", "settings", "endpoint: found 'h'"),
        ("webhook:audit", "endpoint", "settings", "found 'endpoint'; allowed is NAME=VALUE"),
        ("", "", "arn", "target is missing"),
    ],
)
def test_wrong_settings_are_named_and_never_repeated(
    site: Site, target: str, settings: str, field: str, problem: str
) -> None:
    secret = f"{settings}\nauth_token=hunter2"
    answer = site.post("/changes/add-target", arn=target, settings=secret)
    assert answer.status == 400
    assert problem in answer.text.split(f'id="about-{field}"')[1].split("</p>")[0]
    assert f'value="{target}"' in answer.text
    assert "hunter2" not in answer.text
    assert "hunter2" not in site.get("/changes/add-target?settings=auth_token%3Dhunter2").text
    assert site.get("/targets/webhook:audit").status == 400
