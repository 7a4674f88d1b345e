"""The list of events and the page of one, with whatever keys, records and errors hold."""

import json
import re
from typing import Any, Final

import msgspec
import pytest

from bucketcast.console.recorder import Recorder
from bucketcast.delivery import tracing
from bucketcast.delivery.tracing import Outcomes, Try, dispatched, trace_id
from bucketcast.diagnose.command import explain
from bucketcast.diagnose.explain import Answer, Explanation, Message
from bucketcast.diagnose.steps import Step, read_steps
from bucketcast.event import Event
from bucketcast.rules import Rule
from localstack.console import LISTENS
from tests.unit.console.site import Site
from tests.unit.moto_aws import WEBHOOK, MotoAws, configure
from tests.unit.samples import event

PAYLOAD: Final = """id: a
id: b

{
  "x": [
    1
  ]
}"""
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


def record(recorder: Recorder, key: str, **more: Any) -> Event:
    made = make(key, **more)
    recorder.recent.add(made, NOW)
    return made


def read_log(recorder: Recorder, *lines: str) -> None:
    for text in lines:
        line = tracing.read(text)
        assert line
        recorder.recent.add_steps(read_steps(line))


def test_a_filter_is_in_the_address_and_in_the_command(site: Site, recorder: Recorder) -> None:
    recorder.since = NOW
    cat = record(recorder, "photos/a&b.jpg")
    recorder.recent.add_steps([Step(1, trace_id(cat), "retried", WEBHOOK, reason="answered 503")])
    record(recorder, "photos/dog", name="s3:ObjectRemoved:Delete")
    record(recorder, "photos/bird", bucket="other")
    record(recorder, "logs/x")
    answer = site.get("/events?bucket=uploads&prefix=photos/&event=put&target=&search=")
    assert f'<a href="/events/{cat.id}">uploads/photos/a&b.jpg<' in answer.text
    assert 'title="webhook:primary: answered 503">webhook:primary retried<' in answer.text
    assert answer.text.count('href="/events/') == 1
    assert site.get("/events?target=webhook:primary").text.count('href="/events/') == 1
    assert LISTENS.search(answer.text)
    assert "bucketcast listen s3://uploads --prefix photos/ --event put" in answer.text
    live = 'data-live="/live/events?bucket=uploads&amp;prefix=photos%2F&amp;event=put"'
    assert live in answer.body
    assert "data-live" not in site.get("/events?held=1&bucket=uploads").body
    wrong = site.get("/events?event=puts")
    assert (wrong.status, "did you mean 'put'" in wrong.text) == (400, True)


def test_outcomes_are_one_line_with_what_is_not_delivered_first(
    site: Site, recorder: Recorder
) -> None:
    cat = trace_id(record(recorder, "cat"))
    arns = [f"arn:minio:sqs::{name}:webhook" for name in "abcde"]
    kinds = ("delivered", "retried", "delivered", "dead", "retried")
    steps = [Step(1, cat, kind, arn) for kind, arn in zip(kinds, arns, strict=True)]
    recorder.recent.add_steps(steps)
    shown = re.findall(r"<span class=\"step [^>]*>([^<]*)<", site.get("/events").text)
    assert shown == ["webhook:d dead", "2 targets retried", "2 targets delivered"]


def test_a_payload_is_folded_formatted_and_printed_once(
    site: Site, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = recorder.recent.find(record(recorder, "cat").id)
    assert entry
    cat = entry.event
    sent = [
        Message(cat, f"arn:minio:sqs::{id_}:webhook", {"id": id_}, b'{"x":[1]}') for id_ in "ab"
    ]
    sent.append(Message(cat, WEBHOOK, {}, b"no JSON"))
    rule = Rule(bucket="uploads", arn=WEBHOOK, events=("put",))
    answers = [Answer(cat, rule, yes, str(yes)) for yes in (False, True)]
    monkeypatch.setattr(
        explain, "explain_deployed", lambda *_: Explanation([cat], answers, sent, missing=[])
    )
    page = site.get(f"/events/{cat.id}").text
    assert page.index(">yes</td>") < page.index(">no</td>")
    folded = re.findall("(?s)<summary>(.*?)</summary><pre[^>]*>(.*?)</pre></details>", page)
    assert folded == [
        ("What is sent to webhook:a, webhook:b", PAYLOAD),
        ("What is sent to webhook:primary", "\nno JSON"),
        ("Record", '{\n  "a": 1\n}'),
    ]


def test_steps_of_the_objects_other_events_are_not_shown(site: Site, recorder: Recorder) -> None:
    first = record(recorder, "cat", sequencer="1")
    other = make("cat", time="2026-03-14T10:00:00.000Z")
    read_log(recorder, *dispatched(WEBHOOK, Outcomes({1: [other]}), 1))
    assert "delivered" not in site.get(f"/events/{first.id}").text
    assert site.get("/events/other").status == 404


def test_an_upload_is_sent_again_to_one_target(
    site: Site, recorder: Recorder, aws: MotoAws
) -> None:
    configure("Bucketcast-webhook-primary", endpoint="https://example.org/hook")
    key = " a?versionId=b "
    enabled: Any = {"Status": "Enabled"}
    aws.s3.put_bucket_versioning(Bucket="uploads", VersioningConfiguration=enabled)
    version = aws.s3.put_object(Bucket="uploads", Key=key, Body=b"four")["VersionId"]
    page = site.get(f"/events/{record(recorder, key, version_id=version).id}").text
    (link,) = re.findall(r'href="/changes/send\?([^"]*)"', page)
    form = site.get(f"/changes/send?{link}").text
    names = ("uri", "version")
    fields = {name: re.findall(f'name="{name}"[^>]* value="([^"]*)"', form)[0] for name in names}
    assert fields == {"uri": f"s3://uploads/{key}", "version": version}
    sent = site.change("send", **fields, arn="webhook:primary").text
    assert "Sent 1 event to webhook:primary" in sent
    assert f"bucketcast send --target webhook:primary --version-id {version}" in sent


@pytest.mark.parametrize(
    ("name", "key"),
    [
        *((name, "a") for name in ("s3:ObjectRemoved:Delete", "s3:ObjectCreated:PutTagging")),
        *(("s3:ObjectCreated:Put", key) for key in ("a\n", "a\rb", "\ud800")),
    ],
)
def test_no_other_object_or_event_is_sent_for_it(
    site: Site, recorder: Recorder, name: str, key: str
) -> None:
    entry = record(recorder, key, name=name)
    assert "/changes/send" not in site.get(f"/events/{entry.id}").text


def test_whatever_an_event_holds_is_text(site: Site, recorder: Recorder) -> None:
    key = f"{SCRIPT}\x1b[2J\u2028\ud800\"'"
    bad = record(recorder, key)
    body = json.dumps({"name": SCRIPT, "m": "\x00"}).encode()
    worse = event(key, request_id="2", stored=msgspec.Raw(body), metadata={"x": SCRIPT})
    recorder.recent.add(worse, NOW)
    step = Step(1, trace_id(bad), "retried", WEBHOOK, reason=f'"><img src=x onerror=y>{SCRIPT}')
    recorder.recent.add_steps([step])
    read_log(
        recorder, *dispatched(WEBHOOK, Outcomes(dead={("answer", f"</td>{SCRIPT}"): [Try(bad)]}), 1)
    )
    for address in ("/events", f"/events/{bad.id}", f"/events/{worse.id}"):
        answer = site.get(address)
        assert answer.status == 200
        assert "&lt;script&gt;" in answer.body
        for sign in ("<script>", "<img", "\x1b", "\u2028"):
            assert sign not in answer.body
