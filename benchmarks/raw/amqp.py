"""pika: messages of a batch are published without waiting, and confirmed together."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pika

from benchmarks.raw import Batch, Writer
from bucketcast.event import Event
from bucketcast.shapes import minio


def rows(events: Sequence[Event]) -> Batch:
    return [(minio.log(event), _properties(event)) for event in events]


def _properties(event: Event) -> pika.BasicProperties:
    return pika.BasicProperties(
        content_type="application/json",
        headers={"minio-bucket": event.bucket, "minio-event": event.name},
        delivery_mode=2,
        message_id=event.id,
    )


@contextmanager
def writer(settings: dict[str, str]) -> Iterator[Writer]:
    """Yield a writer that uses pika's callbacks; its blocking connection is 15 times slower."""
    channels: list[pika.channel.Channel] = []
    waiting: set[int] = set()
    sent = 0

    def handle_confirm(frame: pika.frame.Method) -> None:
        method = frame.method
        if method.NAME != "Basic.Ack":
            raise RuntimeError("the broker refused a message")
        if method.multiple:
            waiting.difference_update([tag for tag in waiting if tag <= method.delivery_tag])
        else:
            waiting.discard(method.delivery_tag)
        if not waiting:
            loop.stop()

    def select_confirms(channel: pika.channel.Channel) -> None:
        channels.append(channel)
        channel.confirm_delivery(handle_confirm, lambda _: loop.stop())

    connection: Any = pika.SelectConnection(
        pika.URLParameters(settings["url"]),
        on_open_callback=lambda _: connection.channel(on_open_callback=select_confirms),
        on_close_callback=lambda *_: loop.stop(),
    )
    loop: Any = connection.ioloop
    loop.start()
    (channel,) = channels
    exchange, routing_key = settings["exchange"], settings["routing_key"]

    def write(batch: Batch) -> None:
        nonlocal sent
        for body, properties in batch:
            channel.basic_publish(exchange, routing_key, body, properties, mandatory=True)
            sent += 1
            waiting.add(sent)
        loop.start()

    yield write
    connection.close()
    loop.start()
