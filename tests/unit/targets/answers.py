"""Each kind's answers by the library's or the protocol's own list, and the error that each becomes.

A new release's new code is on no list of ours, and fails the test.
"""

import inspect
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from unittest.mock import patch

import pika.exceptions
import pika.spec

from bucketcast.errors import DeliveryError
from bucketcast.settings.types import LoginUrl
from bucketcast.targets.amqp import errors as amqp
from bucketcast.targets.amqp import protocol
from bucketcast.targets.amqp.address import parse
from bucketcast.targets.amqp.client import BlockedError, ClosedError

Answer = tuple[str, DeliveryError]
"""A code or a class as the list has it, and the error that the product makes of it."""


def exceptions(*modules: ModuleType) -> Iterator[type[Exception]]:
    for module in modules:
        for _, each in inspect.getmembers(module, inspect.isclass):
            if issubclass(each, Exception):
                yield each


AMQP = parse(LoginUrl("amqp://h"))


def of_amqp() -> Iterator[Answer]:
    for name, code in vars(pika.spec).items():
        if name.isupper() and isinstance(code, int) and 200 <= code <= 600 and name != "FRAME_END":
            method = SimpleNamespace(reply_text=name, reply_code=code, NAME="Channel.Close")
            yield str(code), amqp.delivery_error(ClosedError(method), AMQP)
    yield "blocked", amqp.delivery_error(BlockedError("low on memory"), AMQP)


def of_pika() -> Iterator[Answer]:
    """Yield what becomes of each class where pika decodes a frame, which is all that it does."""
    for each in exceptions(pika.exceptions):
        with patch("pika.frame.decode_frame", side_effect=each.__new__(each)):
            try:
                protocol._decode(b"")
            except amqp.RAISED as error:
                yield each.__name__, amqp.delivery_error(error, AMQP)


OF_SERVERS: dict[str, Callable[[], Iterator[Answer]]] = {"amqp": of_amqp}
OF_LIBRARIES: dict[str, Callable[[], Iterator[Answer]]] = {"amqp": of_pika}
"""The exceptions that the client's library can raise."""
