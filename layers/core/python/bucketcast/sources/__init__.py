"""The dialects that arrive on the ingress queue, one module each, recognised by their shape."""

import msgspec

from bucketcast.errors import BadEvent
from bucketcast.event import Event
from bucketcast.sources import s3

_body = msgspec.json.Decoder(dict[str, msgspec.Raw])
_DIALECTS = (s3,)


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
            found: list[Event] = dialect.events(fields)
            return found
    known = ", ".join(sorted(fields)[:8])[:200]
    raise BadEvent(f"no known event: neither Records nor s3:TestEvent among its fields ({known})")
