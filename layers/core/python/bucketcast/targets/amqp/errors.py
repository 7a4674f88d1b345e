"""Errors of a connection as delivery errors, by the list of `answers`."""

import re

from bucketcast.errors import DeliveryError
from bucketcast.targets.amqp.address import Address
from bucketcast.targets.amqp.answers import ANSWERS
from bucketcast.targets.amqp.client import BlockedError, ClosedError
from bucketcast.targets.base.answers import codes_of

RAISED = (OSError, ClosedError)
"""The errors that a connection raises."""
_too_large = re.compile(r"message size \d+ .*max size (\d+)").search


def delivery_error(
    error: BaseException, address: Address, *, connecting: bool = False
) -> DeliveryError:
    """Return the delivery error for an error of the client."""
    reason, codes = " ".join(str(error).split()) or type(error).__name__, codes_of(error)
    if isinstance(error, BlockedError):
        codes = ("blocked",)
    elif isinstance(error, ClosedError):
        codes = (str(error.code),)
    return ANSWERS.error(str(address), reason, codes, connecting=connecting)


def largest_message(error: Exception) -> int | None:
    """Return the broker's limit in bytes, if the error says that a message exceeded it."""
    match = _too_large(str(error))
    return int(match[1]) if match else None
