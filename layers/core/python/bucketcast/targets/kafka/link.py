"""A connected producer: a batch goes through it, or is taken back with the reason."""

import time
from collections.abc import Iterable
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

from bucketcast.errors import DeliveryError
from bucketcast.targets.kafka.client import CONNECT_SECONDS, configuration, started
from bucketcast.targets.kafka.errors import refusal, unconfirmed
from bucketcast.targets.kafka.given import Given
from bucketcast.targets.kafka.outlook import Outlook

if TYPE_CHECKING:
    from confluent_kafka import KafkaError
    from confluent_kafka import Message as Report

CLOSE_SECONDS = 2.0
STEP = 0.1
"""Seconds between two looks at whether there is still hope."""
_TAKEN_BACK = ("_PURGE_QUEUE", "_PURGE_INFLIGHT", "_MSG_TIMED_OUT")


class Message(NamedTuple):
    """An event, ready to be sent; `place` is its place in the batch."""

    place: int
    key: bytes
    value: bytes
    headers: list[tuple[str, str | bytes | None]]


class Link:
    """Not for several threads at once. Once a batch had a failure, it is of no more use."""

    def __init__(self, given: Given, patience: float, batch_bytes: int, where: str) -> None:
        """Begin to connect.

        Raises:
            NotConnected: the options cannot be used.
        """
        from confluent_kafka import Producer  # noqa: PLC0415 - see targets.base

        self.batch_bytes = batch_bytes
        self._given = given
        self._patience = patience
        self._outlook = Outlook(given, where)
        told = configuration(given, patience, batch_bytes)
        self._producer = started(Producer, told, self._outlook)

    def connect(self, deadline: float) -> None:
        """Find the brokers.

        Raises:
            NotConnected: none of them can be talked to.
        """
        # Each answer lets librdkafka ask for its producer's id, without which it sends nothing: the
        # first finds it not yet connected to the brokers themselves. Else it waits for 500 ms.
        soon = min(deadline, time.monotonic() + CONNECT_SECONDS)
        for _ in range(2):
            self._metadata(soon)
        self._outlook.brightens()

    def send(self, messages: Iterable[Message], deadline: float) -> dict[int, DeliveryError]:
        """What was not confirmed, by its place; nothing of that is sent any more.

        Raises:
            NotConnected: of no message is it known.
        """
        from confluent_kafka import KafkaException  # noqa: PLC0415 - see targets.base

        refused: dict[int, KafkaError] = {}
        produce, topic = self._producer.produce, self._given.topic
        for place, key, value, headers in messages:
            report = partial(_note, refused, place)
            try:
                produce(topic, value, key, headers=headers, on_delivery=report)
            except KafkaException as error:
                refused[place] = error.args[0]
        self._settle(deadline)
        return {place: self._why(error) for place, error in refused.items()}

    def close(self) -> None:
        """Drop the connections, and what was not sent."""
        self._producer.purge()
        # It waits for threads that may be asking for a name, which nothing can stop.
        closing = Thread(target=self._producer.close, daemon=True)
        closing.start()
        closing.join(CLOSE_SECONDS)

    def _metadata(self, deadline: float) -> None:
        from confluent_kafka import KafkaException  # noqa: PLC0415 - see targets.base

        seconds = STEP
        while True:
            try:
                self._producer.list_topics(self._given.topic, timeout=seconds)
            except KafkaException:
                self._producer.poll(0)
                left = deadline - time.monotonic()
                if left < 0 or self._outlook.is_hopeless:
                    raise self._outlook.reason() from None
                # An answer that comes late is thrown away: longer and longer, for slow brokers.
                seconds = max(STEP, min(2 * seconds, left))
            else:
                return

    def _settle(self, deadline: float) -> None:
        """Wait until each is confirmed or refused, or else take it back."""
        self._producer.poll(0)  # what is heard meanwhile counts as waiting, too
        fewest = len(self._producer)
        while left := self._producer.flush(STEP):
            if left < fewest:
                self._outlook.brightens()
                fewest = left
            elif self._outlook.is_hopeless or time.monotonic() > deadline:
                self._producer.purge()
                if self._producer.flush(CLOSE_SECONDS):
                    raise self._outlook.reason()
                return

    def _why(self, error: "KafkaError") -> DeliveryError:
        if error.name() not in _TAKEN_BACK:
            return refusal(error, self._given, self._outlook.where)
        if self._outlook.is_clouded:
            return self._outlook.reason()
        return unconfirmed(self._patience, self._outlook.where)


def _note(refused: dict[int, "KafkaError"], place: int, error: "KafkaError", _: "Report") -> None:
    refused[place] = error
