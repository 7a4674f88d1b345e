"""nats-py's fastest ways: a PONG per batch, `publish_async`, and NATS Streaming's acks."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg

from benchmarks.raw import Batch, Writer
from bucketcast.event import Event
from bucketcast.shapes import minio
from tests.servers.nats_streaming import Session, encode


def rows(events: Sequence[Event]) -> Batch:
    return [(minio.log(event), {"Nats-Msg-Id": event.id}) for event in events]


@contextmanager
def writer(settings: dict[str, str]) -> Iterator[Writer]:
    with asyncio.Runner() as runner:
        address = f"nats://{settings['address']}"
        client = runner.run(nats.connect(address, token=settings["token"]))
        subject = f"{settings['subject']}.raw"
        if settings.get("streaming") == "on":
            session = runner.run(Session.open(client, settings["streaming_cluster_id"]))
            yield lambda batch: runner.run(_streaming(session, subject, batch))
        elif settings.get("jetstream") == "on":
            yield lambda batch: runner.run(_jetstream(client, subject, batch))
        else:
            yield lambda batch: runner.run(_core(client, subject, batch))
        runner.run(client.close())


async def _core(client: Client, subject: str, batch: Batch) -> None:
    for body, headers in batch:
        await client.publish(subject, body, headers=headers)
    await asyncio.sleep(0)  # else its PING would be sent first
    await client.flush()


async def _jetstream(client: Client, subject: str, batch: Batch) -> None:
    stream = client.jetstream()
    acks = [await stream.publish_async(subject, body, headers=headers) for body, headers in batch]
    await asyncio.gather(*acks)


async def _streaming(session: Session, subject: str, batch: Batch) -> None:
    waiting, inbox, done = len(batch), session.client.new_inbox(), asyncio.Event()

    async def count_ack(_: Msg) -> None:
        nonlocal waiting
        waiting -= 1
        if not waiting:
            done.set()

    subscription = await session.client.subscribe(inbox, cb=count_ack)
    for body, headers in batch:
        message = encode({1: session.id, 2: headers["Nats-Msg-Id"], 3: subject, 5: body})
        await session.client.publish(f"{session.publish_prefix}.{subject}", message, reply=inbox)
    await done.wait()
    await subscription.unsubscribe()
