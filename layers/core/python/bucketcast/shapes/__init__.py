"""The dialects in which events are sent, one module each."""

from collections.abc import Callable
from typing import NamedTuple

from bucketcast.event import Event
from bucketcast.shapes import minio


class Shape(NamedTuple):
    """How an event is written: alone in a message, and as the value of a row, item or document."""

    message: Callable[[Event], bytes]
    value: Callable[[Event], bytes]
    content_type: str


MINIO = Shape(minio.log, minio.records, "application/json")
