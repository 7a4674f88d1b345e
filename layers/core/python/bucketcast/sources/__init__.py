"""The dialects on the ingress queue, one module each, recognised by their form."""

import msgspec

from bucketcast.errors import BadEvent
from bucketcast.event import Event
from bucketcast.sources import cloudtrail, eventbridge, minio, nesting, s3, sns

_body = msgspec.json.Decoder(dict[str, msgspec.Raw])
_DIALECTS = (s3, eventbridge, cloudtrail, minio)
_WRAPPINGS = 2
"""An event in a notification of SNS, and no notification in that again."""


def events(body: str) -> list[Event]:
    """Return the events of one message of the ingress queue.

    Raises:
        BadEvent: no dialect recognises the body, or it is broken; nothing of it is used.
    """
    for _ in range(_WRAPPINGS):
        try:
            fields = _body.decode(body)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise BadEvent(f"the message is no JSON object: {error}") from None
        nesting.check(body)
        for dialect in _DIALECTS:
            if dialect.recognises(fields, body):
                try:
                    found: list[Event] = dialect.events(fields, body)
                except RecursionError as error:  # the limit counts our own frames too
                    raise BadEvent(f"the message is nested too deeply: {error}") from None
                return found
        if not sns.recognises(fields):
            break
        body = sns.message(fields)
    known = ", ".join(sorted(fields)[:8])[:200]
    raise BadEvent(
        f"no known event: no Records, s3:TestEvent or S3 detail-type among its fields ({known})"
    )
