"""Each kind's answers by the library's or the protocol's own list, and the error that each becomes.

A new release's new code is on no list of ours, and fails the test.
"""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock, patch

import confluent_kafka
import nats.errors
import pika.exceptions
import pika.spec
import wsproto.utilities
from confluent_kafka import KafkaError
from paho.mqtt.enums import ConnackCode
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.reasoncodes import ReasonCode

from bucketcast.settings.options import read
from bucketcast.targets.amqp import answers as amqp
from bucketcast.targets.amqp import protocol
from bucketcast.targets.amqp.client import BlockedError, ClosedError
from bucketcast.targets.base.answers import Refusal
from bucketcast.targets.kafka import Target
from bucketcast.targets.kafka import errors as kafka
from bucketcast.targets.mqtt import answers as mqtt
from bucketcast.targets.mqtt.client import REFUSED, Refused
from bucketcast.targets.mqtt.protocol import Response, decode_connack
from bucketcast.targets.mqtt.websocket import _receive_events
from bucketcast.targets.nats import answers as nats_answers
from tests.unit.samples import event
from tests.unit.targets import answers_of_stores
from tests.unit.targets.answers_of_stores import Answer, exceptions

KAFKA = read(Target.Settings, {"brokers": "h", "topic": "t"})


def of_amqp() -> Iterator[Answer]:
    for name, code in vars(pika.spec).items():
        if name.isupper() and isinstance(code, int) and 200 <= code <= 600 and name != "FRAME_END":
            method = SimpleNamespace(reply_text=name, reply_code=code, NAME="Channel.Close")
            yield str(code), amqp.ANSWERS.of(ClosedError(method), "there")
    yield "blocked", amqp.ANSWERS.of(BlockedError("low on memory", "blocked"), "there")


def of_pika() -> Iterator[Answer]:
    """Yield what becomes of each class where pika decodes a frame, which is all that it does."""
    for each in exceptions(pika.exceptions):
        with patch("pika.frame.decode_frame", side_effect=each.__new__(each)):
            try:
                protocol._decode(b"")
            except OSError as error:
                yield each.__name__, amqp.ANSWERS.of(error, "there")


def of_kafka() -> Iterator[Answer]:
    codes = {code for code in vars(KafkaError).values() if isinstance(code, int)}
    for code in codes - {KafkaError.NO_ERROR}:
        error = KafkaError(code)
        yield f"{error.name()} {code}", kafka.refusal(error, KAFKA, "there")


def of_confluent() -> Iterator[Answer]:
    """Yield what becomes of each class that a producer raises while it sends."""
    target = Target(KAFKA)
    for each in exceptions(confluent_kafka.error, confluent_kafka.cimpl):
        with patch.object(target, "_connect", side_effect=each(KafkaError(KafkaError._FATAL))):
            yield each.__name__, target.send([event("a")])[0]


def of_mqtt() -> Iterator[Answer]:
    """Yield the codes of both versions, as refusals of an event."""
    codes = [code for code in ReasonCode(PacketTypes.CONNACK).names if code >= REFUSED]
    codes += [decode_connack(bytes([0, code])).code for code in ConnackCode if code]
    for code in codes:
        yield f"0x{code:02X}", mqtt.ANSWERS.of(Refused(Response(code, {})), "there")


def of_wsproto() -> Iterator[Answer]:
    """Yield what becomes of each class where a websocket is read."""
    for each in exceptions(wsproto.utilities):
        plain = SimpleNamespace(receive=lambda _: b"x")
        connection = SimpleNamespace(receive_data=Mock(side_effect=each("")))
        try:
            _receive_events(cast(Any, plain), cast(Any, connection), 0.0)
        except Refusal as error:
            yield each.__name__, mqtt.ANSWERS.of(error, "there", connecting=True)


def of_nats() -> Iterator[Answer]:
    for each in exceptions(nats.errors):
        error = type(
            each.__name__,
            (each,),
            {"__init__": Mock(return_value=None), "__str__": Mock(return_value="it")},
        )
        yield each.__name__, nats_answers.ANSWERS.of(error(), "there")


OF_SERVERS: dict[str, Callable[[], Iterator[Answer]]] = {
    **answers_of_stores.OF_SERVERS,
    "amqp": of_amqp,
    "kafka": of_kafka,
    "mqtt": of_mqtt,
}
OF_LIBRARIES: dict[str, Callable[[], Iterator[Answer]]] = {
    **answers_of_stores.OF_LIBRARIES,
    "amqp": of_pika,
    "kafka": of_confluent,
    "mqtt": of_wsproto,
    "nats": of_nats,
}
"""The exceptions that the client's library can raise."""
