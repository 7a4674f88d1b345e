"""Errors of nsqd and of the connection as delivery errors, by the list of `answers`."""

from bucketcast.errors import DeliveryError
from bucketcast.targets.base.answers import codes_of
from bucketcast.targets.nsq.answers import ANSWERS


class Refused(Exception):
    """An error of nsqd: a code and a text, such as `E_BAD_TOPIC PUB topic name "" is not valid`."""


RAISED = (Refused, OSError)
"""The errors that a connection raises."""


def delivery_error(error: BaseException, where: str, *, connecting: bool) -> DeliveryError:
    """Return the delivery error for an error of the client."""
    text = str(error)
    codes = (text.partition(" ")[0],) if isinstance(error, Refused) else codes_of(error)
    return ANSWERS.error(where, text, codes, connecting=connecting)
