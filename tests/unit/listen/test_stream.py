"""The stream of a listener: lines, deleted and released messages, and slow clients."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest

from bucketcast.delivery.envelope import Delivery, pack
from bucketcast.listen.listener import KEEP_SECONDS, EventsLostError
from bucketcast.listen.queue import Message, Queue, QueueNotFoundError, QueueUnavailableError
from bucketcast.listen.stream import AGAIN_SECONDS, PING, KeepAlive, Stream, keep_alive
from tests.unit.samples import event

pytestmark = pytest.mark.anyio

NOW = 1_800_000_000.0


@dataclass
class MemoryQueue(Queue):
    """A queue in memory; received messages are hidden until they are deleted or released."""

    waiting: list[Message] = field(default_factory=list)
    received: dict[str, Message] = field(default_factory=dict)
    received_count: int = 0
    errors: list[Exception] = field(default_factory=list)
    seconds: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, *keys: str, age: float = 0.0) -> None:
        deliveries = [
            Delivery("rule", event(key, sequencer=f"{n:04x}")) for n, key in enumerate(keys)
        ]
        (packed,) = pack(deliveries)
        id_ = f"m{self.received_count + len(self.waiting) + len(self.received)}-{keys[0]}"
        sent = round((NOW - age) * 1_000)
        self.waiting.append(Message(id_, f"receipt of {id_}", packed.body, sent))
        self.changed.set()

    async def receive(self, seconds: float) -> Sequence[Message]:
        if self.errors:
            raise self.errors.pop(0)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self.waiting:
                    self.changed.clear()
                    await self.changed.wait()
        messages, self.waiting = self.waiting[:10], self.waiting[10:]
        self.received_count += len(messages)
        self.received |= {message.receipt: message for message in messages}
        return messages

    async def delete(self, receipts: Sequence[str]) -> None:
        for receipt in receipts:
            del self.received[receipt]

    async def release(self, receipts: Sequence[str], seconds: int = 0) -> None:
        self.waiting[:0] = [self.received.pop(receipt) for receipt in receipts]
        self.seconds = seconds
        self.changed.set()


@dataclass
class Client:
    """A client that reads lines by default."""

    content: bytes = b""
    reads: asyncio.Event = field(default_factory=asyncio.Event)
    wrote: asyncio.Event = field(default_factory=asyncio.Event)

    async def write(self, content: bytes) -> None:
        await self.reads.wait()
        self.content += content
        self.wrote.set()

    def keys(self) -> list[str]:
        lines = [json.loads(line) for line in self.content.splitlines() if line.strip()]
        return [line["Records"][0]["s3"]["object"]["key"] for line in lines if line["Records"]]

    async def wait_for(self, count: int) -> None:
        while len(self.keys()) < count:
            self.wrote.clear()
            await self.wrote.wait()


def stream_of(
    queue: MemoryQueue, client: Client, alive: KeepAlive | None = None, max_age: float = 600.0
) -> Stream:
    log: Callable[[str], None] = lambda _: None  # noqa: E731
    return Stream(queue, client.write, alive, max_age, log, clock=lambda: NOW)


def new_client(*, reads: bool = True) -> Client:
    client = Client()
    if reads:
        client.reads.set()
    return client


async def wait_until(condition: Callable[[], object]) -> None:
    while not condition():  # noqa: ASYNC110 - no condition sets an event
        await asyncio.sleep(0.001)


@asynccontextmanager
async def running(stream: Stream) -> AsyncIterator[None]:
    """Let a stream run, and end it."""
    task = asyncio.create_task(stream.run())
    yield
    stream.end()
    await task


@pytest.mark.parametrize(("ping", "content", "seconds"), [(10, PING, 10), (0, b" ", 0.5)])
async def test_the_client_chooses_the_keep_alive(ping: int, content: bytes, seconds: float) -> None:
    assert keep_alive(ping) == (content, seconds)
    reader = new_client()
    async with running(stream_of(MemoryQueue(), reader, keep_alive(ping)._replace(seconds=0.01))):
        while len(reader.content) < 2 * len(content):
            reader.wrote.clear()
            await reader.wrote.wait()
        assert reader.content.startswith(content * 2)


async def test_a_returning_client_gets_its_last_messages_again() -> None:
    queue, reader = MemoryQueue(), new_client()
    queue.put("a")
    async with running(stream_of(queue, reader)):
        await reader.wait_for(1)
    # The cancelled wait may receive it too, and releases it.
    await wait_until(lambda: not queue.received)
    assert len(queue.waiting) == 1
    returned = new_client()
    async with running(stream_of(queue, returned)):
        await returned.wait_for(1)
        assert returned.keys() == ["a"]


async def test_messages_received_during_a_disconnect_are_released() -> None:
    queue, reader = MemoryQueue(), new_client()
    async with running(stream_of(queue, reader)):
        await asyncio.sleep(0.01)
    queue.put("late")  # the cancelled wait still receives it
    await wait_until(lambda: queue.received_count and queue.waiting)
    assert queue.received == {}


async def test_ten_messages_are_received_while_the_client_does_not_read() -> None:
    queue, reader = MemoryQueue(), new_client(reads=False)
    keys = [f"{number:04}-{'k' * 900}" for number in range(2_000)]
    for start in range(0, 2_000, 20):
        queue.put(*keys[start : start + 20])
    async with running(stream_of(queue, reader)):
        await wait_until(lambda: queue.received)
        await asyncio.sleep(0.2)
        assert (queue.received_count, len(queue.waiting)) == (10, 90)
        reader.reads.set()
        await reader.wait_for(2_000)
        assert sorted(reader.keys()) == keys


async def test_a_slow_client_gets_an_error_before_messages_are_dropped() -> None:
    queue, reader = MemoryQueue(), new_client()

    async def write_one(content: bytes) -> None:
        if reader.keys():
            await asyncio.Event().wait()
        await reader.write(content)

    queue.put("a")
    queue.put("b")
    stream = stream_of(queue, reader, max_age=0.5)
    stream.write = write_one
    with pytest.raises(EventsLostError):
        await stream.run()
    assert reader.keys() == ["a"]


async def test_a_message_that_is_received_again_is_written_once() -> None:
    queue, reader = MemoryQueue(), new_client(reads=False)
    queue.put("a")
    async with running(stream_of(queue, reader)):
        await wait_until(lambda: queue.received)
        (message,) = queue.received.values()
        queue.received.clear()
        queue.waiting.append(message._replace(receipt="a newer reader"))
        queue.changed.set()
        reader.reads.set()
        queue.put("b")
        await reader.wait_for(2)
        await wait_until(lambda: not queue.received)
        assert reader.keys() == ["a", "b"]


async def test_a_stream_waits_for_sqs_and_ends_with_its_queue() -> None:
    queue, reader = MemoryQueue(errors=[QueueUnavailableError("no answer")]), new_client()
    queue.put("a")
    task = asyncio.create_task(stream_of(queue, reader).run())
    await reader.wait_for(1)
    queue.errors.append(QueueNotFoundError("no queue"))
    queue.put("b")
    with pytest.raises(QueueNotFoundError):
        await task


async def test_an_unreadable_message_does_not_end_the_stream() -> None:
    queue, reader = MemoryQueue(), new_client()
    queue.waiting.append(Message("x", "x", "no envelope", round(NOW * 1_000)))
    queue.put("a")
    async with running(stream_of(queue, reader)):
        await reader.wait_for(1)
        await wait_until(lambda: not queue.received)


async def alone() -> int:
    return 0


async def test_a_poll_with_twins_gets_its_events_again_for_a_minute() -> None:
    """One alike may be away for so long, and who it is cannot be told when it comes back."""

    async def twins() -> int:
        return 1

    queue, clients = MemoryQueue(), [new_client() for _ in range(6)]
    queue.put("a", age=KEEP_SECONDS - 1)
    queue.put("b", age=KEEP_SECONDS + 1)
    for client in clients:
        await stream_of(queue, client).poll(0.01, twins)
    assert [client.keys() for client in clients] == [["a", "b"], *[["a"]] * 5]
    assert queue.seconds == AGAIN_SECONDS


async def test_a_poll_gets_what_came_while_its_client_paused() -> None:
    queue, reader = MemoryQueue(), new_client()
    for number in range(25):
        queue.put(f"{number}")
    await stream_of(queue, reader).poll(0.01, alone)
    assert len(reader.keys()) == 25
    assert (queue.waiting, queue.received) == ([], {})


async def test_what_does_not_fit_into_the_answer_of_a_poll_stays_in_the_queue() -> None:
    """All of 10 messages can be more than Lambda takes, which would lose them."""
    queue, clients = MemoryQueue(), [new_client() for _ in range(2)]
    keys = [f"{number:04}" + "\x01" * 1_020 for number in range(1_000)]
    for start in range(0, 1_000, 100):
        queue.put(*keys[start : start + 100])
    for client in clients:
        await stream_of(queue, client).poll(0.01, alone)
    assert all(len(json.dumps(client.content.decode())) < 6_000_000 for client in clients)
    while queue.waiting:
        await stream_of(queue, clients[-1]).poll(0.01, alone)
    assert sorted(clients[0].keys() + clients[1].keys()) == keys
