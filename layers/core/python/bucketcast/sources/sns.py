"""Amazon SNS notifications, where a topic is between S3 and the queue.

Source: "Parsing message formats" of the Amazon SNS developer guide. A subscription with raw
delivery has no such wrapping.
"""

from collections.abc import Mapping

import msgspec

from bucketcast.errors import BadEvent

_text = msgspec.json.Decoder(str)


def recognises(fields: Mapping[str, msgspec.Raw]) -> bool:
    """Return True if these are the top-level fields of SNS."""
    return {"Type", "TopicArn", "Message"} <= fields.keys()


def message(fields: Mapping[str, msgspec.Raw]) -> str:
    """Return the published message.

    Raises:
        BadEvent: it is a message of SNS about the subscription, or it is not text.
    """
    kind = bytes(fields["Type"])
    if kind != b'"Notification"':
        raise BadEvent(
            f"SNS sent a {kind.decode(errors='replace')[:40]}, which is not an event; a queue's "
            "subscription made by the queue's owner needs no confirmation"
        )
    try:
        return _text.decode(fields["Message"])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadEvent(f"broken SNS notification: Message is not text: {error}") from None
