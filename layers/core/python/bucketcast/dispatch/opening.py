"""Open a message: decode its events, as the target and the settlement need them."""

from msgspec.structs import force_setattr

from bucketcast.delivery.envelope import Delivery, Sealed, seal
from bucketcast.dispatch.messages import Batch, OpenMessage, RetryActions, SealedMessage


def open_message(one: SealedMessage, queue: RetryActions, batch: Batch) -> OpenMessage | None:
    """Return the message with its events; None if it is invalid, and dead-lettered or left."""
    message = one.message
    envelope = one.envelope
    try:
        envelope = envelope or seal(message.body)
        deliveries = open_envelope(envelope, message.sent)
    except ValueError as error:
        if queue.dead_letter_message(message, str(error)):
            batch.outcome.dead += 1
        else:
            batch.stays(message)
        return None
    return OpenMessage(message, envelope, one.term, deliveries)


def open_envelope(envelope: Sealed, sent: int) -> list[Delivery]:
    """Return the deliveries of an envelope that was `sent` then, each event with its rule.

    Raises:
        ValueError: the envelope holds something else.
    """
    deliveries = envelope.open()
    for each in deliveries:
        force_setattr(each.event, "rule", each.rule)
        force_setattr(each.event, "named", each.named)
        if not each.created:
            force_setattr(each, "created", envelope.since or sent)
    return deliveries
