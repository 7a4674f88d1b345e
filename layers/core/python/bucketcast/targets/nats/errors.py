"""Errors of nats-py as delivery errors, by the list of `answers`."""

from nats import errors

from bucketcast.errors import DeliveryError
from bucketcast.targets.base.answers import codes_of
from bucketcast.targets.nats.answers import ANSWERS

RAISED = (errors.Error, OSError, TimeoutError, DeliveryError)
"""The errors that a publisher raises."""


def delivery_error(error: Exception, where: str, *, connecting: bool) -> DeliveryError:
    """Return the delivery error for an error of a publisher; it ends the connection."""
    if isinstance(error, DeliveryError):
        return error
    late = isinstance(error, TimeoutError)
    text = "no answer in time" if late else str(error) or type(error).__name__
    return ANSWERS.error(where, text, codes_of(error), connecting=connecting)
