"""A producer of librdkafka, which sends a batch or withdraws it with the reason."""

import time
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING

from bucketcast.errors import DeliveryError, NotAuthorized, TimedOut
from bucketcast.targets.base import CONNECT_SECONDS
from bucketcast.targets.kafka.answers import RIGHTS
from bucketcast.targets.kafka.configuration import TokenProvider, configuration, create_client
from bucketcast.targets.kafka.errors import BrokerHealth, refusal, unled
from bucketcast.targets.kafka.settings import KafkaSettings

if TYPE_CHECKING:
    from confluent_kafka import KafkaError
    from confluent_kafka import Message as Report

CLOSE_SECONDS = 2.0
STEP = 0.1
"""Seconds between two checks of the brokers' health."""
PROBE_STEP = 0.05
STALLED_SECONDS = 3.0
"""After so long without a confirmation it is asked if all partitions have a leader."""
_WITHDRAWN = ("_PURGE_QUEUE", "_PURGE_INFLIGHT", "_MSG_TIMED_OUT")

Message = tuple[bytes, bytes, dict[str, str]]
"""The value of an encoded event, its key and headers."""


class Client:
    """A producer for one thread at a time, which must be closed once an event failed."""

    def __init__(
        self, settings: KafkaSettings, timeout: float, batch_bytes: int, where: str
    ) -> None:
        """Start connecting.

        Raises:
            NotConnected: librdkafka refuses an option.
        """
        from confluent_kafka import Producer  # noqa: PLC0415 - see targets.base

        self.batch_bytes = batch_bytes
        self._settings = settings
        self._timeout = timeout
        self._health = BrokerHealth(settings, where)
        self._refused: dict[bytes, KafkaError] = {}
        options = configuration(settings, timeout, batch_bytes)
        options["on_delivery"] = partial(_record_error, self._refused)
        self._tokens: TokenProvider | None = options.get("oauth_cb")
        self._producer = create_client(Producer, options, self._health)

    def is_usable(self) -> bool:
        """Return False if the last token has expired, and no other has replaced it."""
        return self._tokens is None or not self._tokens.expired

    def connect(self, deadline: float) -> None:
        """Connect to the brokers.

        Raises:
            NotConnected: no broker answers.
        """
        # After each answer librdkafka requests the producer id that it needs for sending. After
        # the first it is not connected to the brokers yet, and would wait for 500 ms.
        connect_deadline = min(deadline, time.monotonic() + CONNECT_SECONDS)
        for _ in range(2):
            self._fetch_metadata(connect_deadline)
        self._health.reset()

    def send(self, messages: Iterable[Message], deadline: float) -> dict[bytes, DeliveryError]:
        """Send the messages; return the errors of unconfirmed ones by value, and withdraw those.

        Raises:
            NotConnected: librdkafka does not withdraw the messages in time.
            KafkaException, BufferError: the producer cannot go on; see `errors.ended`.
        """
        from confluent_kafka import KafkaError, KafkaException  # noqa: PLC0415 - see targets.base

        self._producer.poll(0)  # what went wrong while it rested may be over
        self._health.reset()
        produce, topic = self._producer.produce, self._settings.topic
        for value, key, headers in messages:
            try:
                # No partition, callback or time of its own. Keywords would take 0.3 µs more.
                produce(topic, value, key, -1, None, None, 0, headers)  # type: ignore[arg-type]
            except KafkaException as error:
                if error.args[0].code() == KafkaError._FATAL:  # noqa: SLF001 - its name
                    self._producer.poll(0)
                    raise KafkaException(self._health.fatal or error.args[0]) from None
                self._refused[value] = error.args[0]
        others_confirm = self._wait(deadline)
        return {
            value: self._delivery_error(error, others_confirm=others_confirm)
            for value, error in self._refused.items()
        }

    def close(self) -> None:
        """Close the connections, and drop unsent messages."""
        # `close` waits for threads that may be resolving a name, which cannot be interrupted.
        closing = Thread(target=self._close, daemon=True)
        closing.start()
        closing.join(CLOSE_SECONDS)

    def _close(self) -> None:
        from confluent_kafka import KafkaException  # noqa: PLC0415 - see targets.base

        with suppress(KafkaException):  # it failed before
            self._producer.purge()
            self._producer.close()

    def _fetch_metadata(self, deadline: float) -> None:
        from confluent_kafka import KafkaException  # noqa: PLC0415 - see targets.base

        seconds = STEP
        while True:
            try:
                self._producer.list_topics(self._settings.topic, timeout=seconds)
            except KafkaException:
                self._producer.poll(0)
                remaining = deadline - time.monotonic()
                if remaining < 0 or self._health.should_give_up:
                    raise self._health.error() from None
                # A late answer is dropped, so wait longer each time, for slow brokers.
                seconds = max(STEP, min(2 * seconds, remaining))
            else:
                return

    def _wait(self, deadline: float) -> bool:
        """Wait until each message is confirmed or refused; withdraw the others.

        Return True if others are confirmed, or could be, so that nobody is away.
        """
        self._producer.poll(0)  # handle reports first, as the length counts them too
        fewest = most = len(self._producer)
        look_at, lacks_leaders = time.monotonic() + STALLED_SECONDS, False
        while waiting := self._producer.flush(STEP):
            if waiting < fewest:
                self._health.reset()
                fewest, look_at = waiting, time.monotonic() + STALLED_SECONDS
            elif self._health.should_give_up or lacks_leaders or time.monotonic() > deadline:
                self._producer.purge()
                if self._producer.flush(CLOSE_SECONDS):
                    raise self._health.error()
                return lacks_leaders or fewest < most
            elif time.monotonic() > look_at:
                lacks_leaders = self._lacks_leaders()
                look_at += STALLED_SECONDS
        return False

    def _lacks_leaders(self) -> bool:
        """Return True if some partitions of the topic have no leader, while others have one."""
        from confluent_kafka import KafkaException  # noqa: PLC0415 - see targets.base

        topic = self._settings.topic
        try:
            known = self._producer.list_topics(topic, timeout=CLOSE_SECONDS)
        except KafkaException:
            return False
        partitions = known.topics[topic].partitions.values()
        return {partition.leader in known.brokers for partition in partitions} == {True, False}

    def _delivery_error(self, error: "KafkaError", *, others_confirm: bool) -> DeliveryError:
        if error.name() not in _WITHDRAWN:
            return refusal(error, self._settings, self._health.where)
        if others_confirm and not self._health.should_give_up:
            return unled(self._health.where)
        if self._health.has_error:
            return self._health.error()
        return TimedOut(  # a broker may have it
            f"{self._health.where}: not confirmed within {self._timeout:g} s; is a broker "
            "overloaded, or are fewer replicas in sync than min.insync.replicas requires?"
        )


def _record_error(
    refused: dict[bytes, "KafkaError"], error: "KafkaError", report: "Report"
) -> None:
    refused[report.value() or b""] = error


def check(settings: KafkaSettings, timeout: float, where: str, *, topic: bool) -> None:
    """Check that a broker answers and accepts the login, and that the user may write to the topic.

    Without `topic` only the former is checked.

    Raises:
        DeliveryError: it is not so.
    """
    from confluent_kafka import KafkaException, TopicCollection  # noqa: PLC0415 - see targets.base
    from confluent_kafka.admin import AclOperation, AdminClient  # type: ignore[attr-defined]  # noqa: PLC0415

    health = BrokerHealth(settings, where)
    client = create_client(AdminClient, configuration(settings, timeout, batch_bytes=1), health)
    seconds = min(timeout, CONNECT_SECONDS)
    deadline = time.monotonic() + seconds
    options = {"include_authorized_operations": topic, "request_timeout": seconds}
    try:
        if topic:
            topics = TopicCollection([settings.topic])
            future = client.describe_topics(topics, **options)[settings.topic]
        else:
            future = client.describe_cluster(**options)
        while not future.done():
            client.poll(PROBE_STEP)
            if health.should_give_up or time.monotonic() > deadline:
                raise health.error()
        rights = future.result().authorized_operations
    except KafkaException as error:
        raise refusal(error.args[0], settings, where) from None
    finally:
        del client  # else it retries for as long as a traceback of the error refers to it
    if rights and AclOperation.WRITE not in rights:
        raise NotAuthorized.hinted(where, RIGHTS, ": ")
