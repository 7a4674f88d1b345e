"""The dialects that arrive on the ingress queue, one module each, recognised by their shape."""

import msgspec

from bucketcast.errors import BadEvent
from bucketcast.event import Event
from bucketcast.sources import eventbridge, s3

_body = msgspec.json.Decoder(dict[str, msgspec.Raw])
_DIALECTS = (s3, eventbridge)


def events(body: str) -> list[Event]:
    """The events of one message of the ingress queue.

    Raises:
        BadEvent: no dialect recognises the body, or it is broken; nothing of it is used.
    """
    try:
        fields = _body.decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BadEvent(f"the message is no JSON object: {error}") from None
    for dialect in _DIALECTS:
        if dialect.recognises(fields):
            try:
                found: list[Event] = dialect.events(fields, body)
            except RecursionError as error:  # the limit counts our own frames too
                raise BadEvent(f"the message is nested too deeply: {error}") from None
            return found
    known = ", ".join(sorted(fields)[:8])[:200]
    raise BadEvent(
        f"no known event: no Records, s3:TestEvent or S3 detail-type among its fields ({known})"
    )
