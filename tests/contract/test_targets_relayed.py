"""Records with JSON that not every product reads: such an event is rejected alone."""

import json

from bucketcast import sources
from bucketcast.errors import Rejected
from bucketcast.event import Event
from bucketcast.shapes import minio
from tests.contract.case import Case, event, record_of, tagged

ODD = {
    "a NUL": r'"\u0000"',
    "a number beyond all floats": "1e999",
    "a number of many digits": "1" * 400,
    "deep nesting": "[" * 300 + "]" * 300,
    "a text with brackets": r'"}]},\"source\":{\\"',
    "an escaped name": r'"", "eve\u006etName": "s3:ObjectCreated:Put"',
}


def relayed(event_: Event, odd: str = '""') -> Event:
    """Return the event parsed from MinIO's record; `odd` is in a part that is not parsed."""
    record = json.loads(minio.records(event_))["Records"][0]
    record["source"]["host"] = "mark"
    body = json.dumps({"EventName": event_.name, "Records": [record]}, separators=(",", ":"))
    (parsed,) = sources.events(body.replace('"mark"', odd))
    return parsed


def test_events_that_the_target_refuses_fail_alone(formatted: Case) -> None:
    sender = formatted.sender()
    good = [relayed(event(f"good-{at:03}", at)) for at in range(1, 101)]
    for number in range(len(ODD)):
        good += [relayed(event(f"under-{number}", 5)), relayed(event(f"tagged-{number}", 5))]
    assert sender.send([good[0]]) == {}
    batch, minios = [*good], {"sequencer": "5", "size": 5, "etag": "e5"}  # it tells the object's
    for number, odd in enumerate(ODD.values()):
        batch.insert(30, relayed(event(f"odd-{number}", 5), odd))
        batch.insert(60, relayed(event(f"under-{number}", 6), odd))
        batch.insert(90, relayed(tagged(f"tagged-{number}", 7, **minios), odd))
    failures = sender.send(batch)
    assert all(error.alone or isinstance(error, Rejected) for error in failures.values())
    rejected = [batch[index].key for index in failures]
    refused = [number for number in range(len(ODD)) if f"odd-{number}" in rejected]
    names = ("odd", "tagged", "under")
    assert sorted(rejected) == [f"{name}-{number}" for name in names for number in refused]
    arrived = [record_of(each.body)["s3"]["object"]["key"] for each in formatted.arrivals()]
    taken = {f"odd-{number}" for number in range(len(ODD)) if number not in refused}
    assert {put.key for put in good} | taken == {*arrived}
    if formatted.layout.mirrors:
        assert len(arrived) == len(set(arrived))
