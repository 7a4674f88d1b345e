"""The list of events and the page of one, with whatever keys, records and errors hold."""

import json
import re
from typing import Any, Final

import msgspec
import pytest

from bucketcast.console.recorder import Recorder
from bucketcast.delivery import tracing
from bucketcast.delivery.tracing import Outcomes, dispatched, received, trace_id
from bucketcast.diagnose.steps import Step, read_steps
from bucketcast.event import Event
from bucketcast.rules import Rule, RuleIndex
from bucketcast.state.rules import Rules
from localstack.console import LISTENS
from tests.unit.console.site import Site
from tests.unit.moto_aws import TABLE, MotoAws, configure
from tests.unit.samples import event

HOOK: Final = "arn:minio:sqs::primary:webhook"
SCRIPT: Final = "<script>alert(1)</script>"
NOW: Final = 1_773_480_413_700
"""A little after the time of the event."""


@pytest.fixture
def recorder(site: Site, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """Nothing is recorded but what a test says."""
    monkeypatch.setattr(Recorder, "look", lambda _: None)
    recorder: Recorder = site.state.recorder
    return recorder


def make(key: str, **more: Any) -> Event:
    return event(key, request_id=key, stored=msgspec.Raw(b'{"a":1}'), size=2048, **more)


def rule(**more: Any) -> Rule:
    return Rule(bucket="uploads", arn=HOOK, events=("s3:ObjectCreated:*",), **more)


def record(recorder: Recorder, key: str, **more: Any) -> Event:
    made = make(key, **more)
    recorder.recent.add(made, NOW)
    return made


def read_log(recorder: Recorder, *lines: str) -> None:
    for at, text in enumerate(lines):
        line = tracing.read(text)
        assert line
        recorder.recent.add_steps(read_steps(at, line))


def test_events_are_listed_with_what_became_of_them(site: Site, recorder: Recorder) -> None:
    cat = record(recorder, "photos/a&b.jpg")
    recorder.since = NOW
    recorder.recent.add_steps([Step(1, trace_id(cat), "retried", HOOK, reason="answered 503")])
    page = site.get("/events").text
    assert f'href="/events/{cat.id}"' in page
    assert ">uploads/photos/a&b.jpg<" in page
    assert 'title="answered 503">webhook:primary retried<' in page
    assert "2.0 KiB" in page
    assert "1 event since" in page
    assert LISTENS.search(page)
    assert "the logs hold no key and no record" in page


def test_a_filter_is_in_the_address_and_in_the_command(site: Site, recorder: Recorder) -> None:
    record(recorder, "photos/cat")
    record(recorder, "photos/dog", name="s3:ObjectRemoved:Delete")
    record(recorder, "logs/x")
    answer = site.get("/events?bucket=uploads&prefix=photos/&event=put&target=")
    assert "uploads/photos/cat" in answer.text
    assert "photos/dog" not in answer.text
    assert "logs/x" not in answer.text
    assert "bucketcast listen s3://uploads --prefix photos/ --event put" in answer.text
    live = 'data-live="/live/events?bucket=uploads&amp;prefix=photos%2F&amp;event=put"'
    assert live in answer.body
    assert "data-live" not in site.get("/events?held=1&bucket=uploads").body


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("event=puts", "unknown event 'puts': did you mean 'put'"),
        ("bucket=s3://x", "invalid bucket name 's3://x'"),
        ("target=x", "invalid target 'x'"),
    ],
)
def test_a_wrong_filter_is_named_in_the_commands_words(
    site: Site, query: str, problem: str
) -> None:
    answer = site.get(f"/events?{query}")
    assert (answer.status, problem in answer.text) == (400, True), answer.text


def test_an_event_explains_itself(site: Site, recorder: Recorder, aws: MotoAws) -> None:
    cat = record(recorder, "photos/cat.jpg")
    configure("Bucketcast-webhook-primary", endpoint="https://example.org/hook")
    hit = rule(name="hit")
    table = Rules(TABLE, aws.dynamodb)
    table.add(hit)
    table.add(rule(prefix="logs/"))
    read_log(
        recorder,
        *dispatched(HOOK, Outcomes(retried={"answered 503": [cat]})),
        *dispatched(HOOK, Outcomes(delivered=[cat])),
        *received([(cat, RuleIndex([hit]).match(cat))]),
    )
    page = site.get(f"/events/{cat.id}").text
    assert re.search(r">hit<.*\n.*webhook:primary.*\n.*>yes<", page)
    assert re.search(r">no<.*\n.*>the key", page)
    assert "the key 'photos/cat.jpg' does not begin with 'logs/'" in page
    assert page.index(">received<") < page.index(">queued<") < page.index(">retried<")
    assert "answered 503" in page
    assert ">delivered<" in page
    assert '"Key":"uploads/photos/cat.jpg"' in page  # what the webhook gets
    assert '"a": 1' in page  # the record
    assert "111 ms" in page
    assert '<th scope="col">do</th>' not in page
    assert "bucketcast trace s3://uploads/photos/cat.jpg --since" in page
    assert (
        "bucketcast explain s3://uploads/photos/cat.jpg --event s3:ObjectCreated:Put --size 2048"
        in page
    )


def test_the_last_step_of_a_dead_event_leads_to_its_letter(site: Site, recorder: Recorder) -> None:
    cat = record(recorder, "cat")
    read_log(recorder, *dispatched(HOOK, Outcomes(dead={"bad": [cat]})))
    letter = f'href="/dead-letters/letters?target=webhook%3Aprimary&id={cat.id}"'
    page = site.get(f"/events/{cat.id}").text
    assert letter in page
    assert '<span class="step dead">dead</span>' in page
    assert site.get("/events/other").status == 404


def test_steps_of_the_objects_other_events_are_not_shown(site: Site, recorder: Recorder) -> None:
    first = record(recorder, "cat", sequencer="1")
    other = make("cat", time="2026-03-14T10:00:00.000Z")
    read_log(recorder, *dispatched(HOOK, Outcomes(delivered=[other])))
    assert "delivered" not in site.get(f"/events/{first.id}").text


def test_whatever_an_event_holds_is_text(site: Site, recorder: Recorder) -> None:
    key = f"{SCRIPT}\x1b[2J\u2028\ud800\"'"
    bad = record(recorder, key)
    body = json.dumps({"name": SCRIPT, "m": "\x00"}).encode()
    worse = event(key, request_id="2", stored=msgspec.Raw(body), metadata={"x": SCRIPT})
    recorder.recent.add(worse, NOW)
    step = Step(1, trace_id(bad), "retried", HOOK, reason=f'"><img src=x onerror=y>{SCRIPT}')
    recorder.recent.add_steps([step])
    read_log(recorder, *dispatched(HOOK, Outcomes(dead={f"</td>{SCRIPT}": [bad]})))
    for address in ("/events", f"/events/{bad.id}", f"/events/{worse.id}"):
        answer = site.get(address)
        assert answer.status == 200
        assert "&lt;script&gt;" in answer.body
        assert "<script>" not in answer.body
        assert "<img" not in answer.body
        assert "\x1b" not in answer.body
        assert "\u2028" not in answer.body
