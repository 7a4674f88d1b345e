"""Read the messages on the ingress queue, in the dialect of whoever sent them.

One module per dialect: `s3` (S3's own notifications), `eventbridge`, `cloudtrail` (calls that S3
does not notify of) and `minio` (MinIO's notifications, and those of our own jobs). `records` has
the common part of S3's and MinIO's records. `sns` unwraps a message that came through a topic.
`events` chooses among them by the message's form.
"""

import re
from collections.abc import Mapping

import msgspec

from bucketcast.errors import BadEvent
from bucketcast.event import Event
from bucketcast.sources import cloudtrail, eventbridge, minio, records, s3, sns

_body = msgspec.json.Decoder(dict[str, msgspec.Raw])
_WRAPPINGS = 2
"""A notification of SNS may hold an event, but no second notification."""
_DEEPEST = 400
"""A record of any source has about ten levels; the interpreter's limit is 1,000."""
_TEXT = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")


def events(body: str) -> list[Event]:
    """Return the events of one message of the ingress queue.

    Raises:
        BadEvent: no dialect recognises the body, or it is broken; nothing of it is used.
    """
    for _ in range(_WRAPPINGS):
        try:
            fields = _body.decode(body)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise BadEvent(f"the message is not a JSON object: {error}") from None
        _check_depth(body)
        try:
            parsed = _parse(fields, body)
        except RecursionError as error:  # the limit counts our own frames too
            raise BadEvent(f"the message is nested too deeply: {error}") from None
        if parsed is not None:
            return parsed
        if not sns.recognises(fields):
            break
        body = sns.message(fields)
    known = ", ".join(sorted(fields)[:8])[:200]
    raise BadEvent(
        f"no known event: no Records, s3:TestEvent or S3 detail-type among its fields ({known})"
    )


def _parse(fields: Mapping[str, msgspec.Raw], body: str) -> list[Event] | None:
    """Return the events of a message with these top-level fields; None if no dialect has them.

    Records with an unknown `eventSource` are read as S3's: others copy its form. A test event only
    confirms the setup and has no events. CloudTrail's calls come through EventBridge, from S3 too.

    Raises:
        BadEvent: the message is broken.
    """
    if "Records" in fields:
        source = records.source(body)
        if source == "ceph:s3":
            return None
        parse = minio.parse if source == "minio:s3" else s3.parse
        return [parse(raw) for raw in records.raw_records(fields["Records"])]
    if bytes(fields.get("Event", b"")) == b'"s3:TestEvent"':
        return []
    if "detail-type" not in fields or bytes(fields.get("source", b"")) != b'"aws.s3"':
        return None
    kind = bytes(fields["detail-type"])
    return cloudtrail.events(body) if kind == cloudtrail.TYPE else eventbridge.events(kind, body)


def _check_depth(body: str) -> None:
    """Check that valid JSON is nested no deeper than `_DEEPEST`.

    The decoder's limit counts the caller's frames too. A message that barely passes here would fail
    inside an envelope, two levels deeper, together with the envelope's other events.

    Raises:
        BadEvent: it is nested deeper.
    """
    # Almost all bodies have too few brackets to be nested so deeply.
    if len(body) <= 2 * _DEEPEST or body.count("{") + body.count("[") <= _DEEPEST:
        return
    depth = deepest = 0
    for bracket in _BRACKET.findall(_TEXT.sub("", body)):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    if deepest > _DEEPEST:
        raise BadEvent(f"the message is nested {deepest} levels deep; allowed are {_DEEPEST}")
