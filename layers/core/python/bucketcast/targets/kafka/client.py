"""A producer of librdkafka: a batch goes through it, or is taken back with the reason."""

import time
from collections.abc import Callable, Iterable
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from bucketcast.errors import DeliveryError
from bucketcast.targets.base import CONNECT_SECONDS
from bucketcast.targets.kafka.configuration import configuration, started
from bucketcast.targets.kafka.errors import lacking_rights, refusal, unconfirmed
from bucketcast.targets.kafka.health import BrokerHealth
from bucketcast.targets.kafka.iam import Tokens
from bucketcast.targets.kafka.settings import KafkaSettings

if TYPE_CHECKING:
    from confluent_kafka import KafkaError
    from confluent_kafka import Message as Report

CLOSE_SECONDS = 2.0
STEP = 0.1
"""Seconds between two looks at whether there is still hope."""
PROBE_STEP = 0.05
_TAKEN_BACK = ("_PURGE_QUEUE", "_PURGE_INFLIGHT", "_MSG_TIMED_OUT")


class Message(NamedTuple):
    """An event, ready to be sent; `position` is its index in the batch."""

    position: int
    key: bytes
    value: bytes
    headers: list[tuple[str, str | bytes | None]]


class Client:
    """Not for several threads at once. Once a batch had a failure, it is of no more use."""

    def __init__(
        self, settings: KafkaSettings, timeout: float, batch_bytes: int, where: str
    ) -> None:
        """Begin to connect.

        Raises:
            NotConnected: the options cannot be used.
        """
        from confluent_kafka import Producer  # noqa: PLC0415 - see targets.base

        self.batch_bytes = batch_bytes
        self._settings = settings
        self._timeout = timeout
        self._health = BrokerHealth(settings, where)
        options = configuration(settings, timeout, batch_bytes)
        self._tokens: Tokens | None = options.get("oauth_cb")
        self._producer = started(Producer, options, self._health)

    @property
    def login_expired(self) -> bool:
        """Whether its last token has expired and was not replaced."""
        return self._tokens is not None and self._tokens.expired

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
        self._health.reset()

    def send(self, messages: Iterable[Message], deadline: float) -> dict[int, DeliveryError]:
        """Return what was not confirmed, by its index; nothing of that is sent any more.

        Raises:
            NotConnected: of no message is it known.
        """
        from confluent_kafka import KafkaException  # noqa: PLC0415 - see targets.base

        refused: dict[int, KafkaError] = {}
        produce, topic = self._producer.produce, self._settings.topic
        for index, key, value, headers in messages:
            report = partial(_note, refused, index)
            try:
                produce(topic, value, key, headers=headers, on_delivery=report)
            except KafkaException as error:
                refused[index] = error.args[0]
        self._settle(deadline)
        return {index: self._why(error) for index, error in refused.items()}

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
                self._producer.list_topics(self._settings.topic, timeout=seconds)
            except KafkaException:
                self._producer.poll(0)
                left = deadline - time.monotonic()
                if left < 0 or self._health.should_give_up:
                    raise self._health.reason() from None
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
                self._health.reset()
                fewest = left
            elif self._health.should_give_up or time.monotonic() > deadline:
                self._producer.purge()
                if self._producer.flush(CLOSE_SECONDS):
                    raise self._health.reason()
                return

    def _why(self, error: "KafkaError") -> DeliveryError:
        if error.name() not in _TAKEN_BACK:
            return refusal(error, self._settings, self._health.where)
        if self._health.has_error:
            return self._health.reason()
        return unconfirmed(self._timeout, self._health.where)


def _note(refused: dict[int, "KafkaError"], index: int, error: "KafkaError", _: "Report") -> None:
    refused[index] = error


def look(settings: KafkaSettings, timeout: float, where: str) -> None:
    """See whether the topic is there, and ours to write to.

    Raises:
        DeliveryError: it is not, or no broker can be asked.
    """
    from confluent_kafka import TopicCollection  # noqa: PLC0415 - see targets.base
    from confluent_kafka.admin import (  # type: ignore[attr-defined]  # noqa: PLC0415
        AclOperation,
    )

    found = _result(
        settings,
        timeout,
        where,
        lambda client, seconds: client.describe_topics(
            TopicCollection([settings.topic]),
            include_authorized_operations=True,
            request_timeout=seconds,
        )[settings.topic],
    )
    rights = found.authorized_operations
    if rights and AclOperation.WRITE not in rights:
        raise lacking_rights(where)


def log_in(settings: KafkaSettings, timeout: float, where: str) -> None:
    """See whether a broker answers and takes the login.

    Raises:
        DeliveryError: none does.
    """
    _result(
        settings,
        timeout,
        where,
        lambda client, seconds: client.describe_cluster(request_timeout=seconds),
    )


def _result(
    settings: KafkaSettings, timeout: float, where: str, ask: Callable[[Any, float], Any]
) -> Any:
    """Return the answer to a question to the brokers."""
    from confluent_kafka import KafkaException  # noqa: PLC0415 - see targets.base
    from confluent_kafka.admin import AdminClient  # noqa: PLC0415 - as above

    health = BrokerHealth(settings, where)
    client = started(AdminClient, configuration(settings, timeout, batch_bytes=1), health)
    seconds = min(timeout, CONNECT_SECONDS)
    deadline = time.monotonic() + seconds
    try:
        future = ask(client, seconds)
        while not future.done():
            client.poll(PROBE_STEP)
            if health.should_give_up or time.monotonic() > deadline:
                raise health.reason()
        return future.result()
    except KafkaException as error:
        raise refusal(error.args[0], settings, where) from None
    finally:
        del client  # else it goes on trying for as long as somebody keeps the error's traceback
