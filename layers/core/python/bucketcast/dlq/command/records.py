"""Dead letters as documents and lines: for `--json`, for files and for people."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from bucketcast.delivery.envelope import Delivery
from bucketcast.destination import short_name
from bucketcast.dlq.letter import Content, Letter
from bucketcast.dlq.repack import Plan
from bucketcast.event import Event
from bucketcast.targets.base import Target
from bucketcast.terminal.times import clock


def line(plan: Plan, target: str) -> bytes:
    """Return a line of NDJSON: a letter, its chosen events, and the message as SQS has it."""
    letter = plan.letter
    document = {
        **_letter_fields(letter, plan.content, target),
        "events": [_event(*each) for each in _chosen_events(plan)],
        "message": {"body": letter.body, "attributes": dict(letter.attributes)},
    }
    return msgspec.json.encode(document)


def entry(plan: Plan, target: str, kind: Target | None) -> dict[str, Any]:
    """Return a letter for `show`: its events with the bytes that would be sent now."""
    events = []
    for event, delivery in _chosen_events(plan):
        shown = _event(event, delivery)
        if kind is not None and delivery is not None:
            body = kind.body(event).decode(errors="replace")
            shown |= {"headers": dict(kind.headers(event)), "body": body}
        events.append(shown)
    raw = {} if events else {"message": plan.letter.body}
    return {**_letter_fields(plan.letter, plan.content, target), "events": events, **raw}


def lines(entry: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of an entry, for people."""
    yield f"{entry['id']} of {short_name(entry['target'])}"
    movers = {
        "bucketcast": "Bucketcast",
        "sqs": "SQS",
        "eventbridge": "EventBridge",
    }
    yield f"  reason    {entry['reason']}"
    yield f"  error     {entry['error'] or '-'}"
    yield f"  moved by  {movers[entry['moved_by']]}; rule {entry['rule'] or '-'}"
    yield f"  dead at   {entry['sent']}; received {entry['receives']} times there"
    if entry["since"]:
        attempts = f", {entry['attempts']} attempts before" if entry["attempts"] else ""
        yield f"  tried     since {entry['since']}{attempts}"
    if entry["answer"]:
        yield "  answer"
        yield from (f"    {line}" for line in entry["answer"].split("\n"))
    if entry["topic"]:
        yield f"  topic     {entry['topic']}"
    if entry["problem"]:
        yield f"  unusable  {entry['problem']}"
    if entry.get("message"):
        yield "  message as it came"
        yield from (f"    {line}" for line in entry["message"].split("\n"))
    for event in entry["events"]:
        yield from _event_lines(event)


def _event_lines(event: dict[str, Any]) -> Iterator[str]:
    yield f"  {event['name']} of s3://{event['bucket']}/{event['key']}"
    version = f", version {event['version_id']}" if event["version_id"] else ""
    yield f"    event     {event['id']} of {event['time']}{version}"
    if event["created"]:
        yield f"    received  {event['created']}"
    if event["reason"]:
        yield f"    failed    {event['reason']}"
    if "body" not in event:
        yield f"    record    {event['record']}"
        return
    yield "    would be sent now"
    yield from (f"      {name}: {value}" for name, value in event["headers"].items())
    yield from (f"      {line}" for line in event["body"].split("\n"))


def _letter_fields(letter: Letter, content: Content, target: str) -> dict[str, Any]:
    return {
        "id": letter.id,
        "target": letter.attribute("target") or target,
        "rule": letter.attribute("rule"),
        "moved_by": letter.moved_by,
        "reason": letter.reason,
        "error": letter.error,
        "answer": letter.attribute("answer"),
        "sent": clock(letter.sent),
        "receives": letter.receives,
        "topic": letter.history.topic,
        "since": clock(letter.history.since),
        "attempts": letter.history.tries,
        "problem": content.problem,
    }


def _chosen_events(plan: Plan) -> Sequence[tuple[Event, Delivery | None]]:
    if plan.chosen:
        return [(delivery.event, delivery) for delivery in plan.chosen]
    return [(event, None) for event in plan.content.events]


def _event(event: Event, delivery: Delivery | None) -> dict[str, Any]:
    return {
        "id": event.id,
        "name": event.name,
        "bucket": event.bucket,
        "key": event.key,
        "version_id": event.version_id or "",
        "time": event.time,
        "rule": delivery.rule if delivery else "",
        "created": clock(delivery.created) if delivery else "",
        "reason": delivery.reason if delivery else "",
        "record": bytes(event.record).decode(errors="replace"),
    }
