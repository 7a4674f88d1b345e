"""One listener's stream: what is written, what is deleted then, and what a slow client costs."""

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

from bucketcast.delivery.envelope import Delivery, pack
from bucketcast.listen.listener import EventsLostError
from bucketcast.listen.queue import Message, Queue, QueueGoneError, QueueTimeoutError
from bucketcast.listen.stream import PING, KeepAlive, Stream, keep_alive
from tests.unit.samples import event

WALL = 1_800_000_000.0


@dataclass
class Shelf(Queue):
    """A queue in memory: what is received lies apart until it is deleted or released."""

    waiting: list[Message] = field(default_factory=list)
    taken: dict[str, Message] = field(default_factory=dict)
    fetched: int = 0
    fails: list[Exception] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, *keys: str, age: float = 0.0) -> None:
        deliveries = [
            Delivery("rule", event(key, sequencer=f"{n:04x}")) for n, key in enumerate(keys)
        ]
        (packed,) = pack(deliveries)
        id_ = f"m{self.fetched + len(self.waiting) + len(self.taken)}-{keys[0]}"
        sent = round((WALL - age) * 1_000)
        self.waiting.append(Message(id_, f"receipt of {id_}", packed.body, sent))
        self.changed.set()

    async def receive(self, seconds: float) -> Sequence[Message]:
        if self.fails:
            raise self.fails.pop(0)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self.waiting:
                    self.changed.clear()
                    await self.changed.wait()
        found, self.waiting = self.waiting[:10], self.waiting[10:]
        self.fetched += len(found)
        self.taken |= {each.receipt: each for each in found}
        return found

    async def delete(self, receipts: Sequence[str]) -> None:
        for receipt in receipts:
            del self.taken[receipt]

    async def release(self, receipts: Sequence[str]) -> None:
        self.waiting[:0] = [self.taken.pop(receipt) for receipt in receipts]
        self.changed.set()


@dataclass
class Client:
    """A client that reads lines by default."""

    text: bytes = b""
    reads: asyncio.Event = field(default_factory=asyncio.Event)
    wrote: asyncio.Event = field(default_factory=asyncio.Event)

    async def write(self, text: bytes) -> None:
        await self.reads.wait()
        self.text += text
        self.wrote.set()

    def keys(self) -> list[str]:
        lines = [json.loads(line) for line in self.text.splitlines() if line.strip()]
        return [one["Records"][0]["s3"]["object"]["key"] for one in lines if one["Records"]]

    async def until(self, count: int) -> None:
        while len(self.keys()) < count:
            self.wrote.clear()
            await self.wrote.wait()


def made(
    shelf: Shelf, client: Client, alive: KeepAlive | None = None, bound: float = 600.0
) -> Stream:
    log: Callable[[str], None] = lambda _: None  # noqa: E731
    return Stream(shelf, client.write, alive, bound, log, wall=lambda: WALL)


def client(*, reads: bool = True) -> Client:
    one = Client()
    if reads:
        one.reads.set()
    return one


async def until(is_true: Callable[[], object]) -> None:
    while not is_true():  # noqa: ASYNC110 - what it waits for tells nobody
        await asyncio.sleep(0.001)


async def ended(stream: Stream, running: "asyncio.Task[None]") -> None:
    stream.end()
    await running


def test_lines_are_records_with_the_key_as_it_is() -> None:
    async def test() -> None:
        shelf, one = Shelf(), client()
        shelf.put("a b/ü+.jpg")
        stream = made(shelf, one)
        running = asyncio.create_task(stream.run())
        await one.until(1)
        assert one.text.startswith(b'{"Records":[{"eventVersion":"2.0","eventSource":"minio:s3"')
        assert one.text.endswith(b"}]}\n")
        assert one.keys() == ["a b/ü+.jpg"]
        await ended(stream, running)

    asyncio.run(test())


@pytest.mark.parametrize(("ping", "text", "seconds"), [(10, PING, 10), (0, b" ", 0.5)])
def test_it_is_kept_alive_as_the_client_asks(ping: int, text: bytes, seconds: float) -> None:
    assert keep_alive(ping) == (text, seconds)

    async def test() -> None:
        one = client()
        stream = made(Shelf(), one, keep_alive(ping)._replace(seconds=0.01))
        running = asyncio.create_task(stream.run())
        while len(one.text) < 2 * len(text):
            one.wrote.clear()
            await one.wrote.wait()
        assert one.text.startswith(text * 2)
        await ended(stream, running)

    asyncio.run(test())


def test_a_message_is_deleted_when_it_was_written_and_the_client_is_still_there() -> None:
    async def test() -> None:
        shelf, one = Shelf(), client()
        shelf.put("a", "b")
        stream = made(shelf, one)
        running = asyncio.create_task(stream.run())
        await one.until(2)
        assert len(shelf.taken) == 1
        await until(lambda: not shelf.taken)
        await ended(stream, running)
        assert shelf.waiting == []

    asyncio.run(test())


def test_who_goes_away_gets_again_what_may_not_have_arrived() -> None:
    async def test() -> None:
        shelf, one = Shelf(), client()
        shelf.put("a")
        stream = made(shelf, one)
        running = asyncio.create_task(stream.run())
        await one.until(1)
        await ended(stream, running)
        # the wait that was broken off gets it too, and gives it back
        await until(lambda: not shelf.taken)
        assert len(shelf.waiting) == 1
        again = client()
        second = made(shelf, again)
        running = asyncio.create_task(second.run())
        await again.until(1)
        assert again.keys() == ["a"]
        await ended(second, running)

    asyncio.run(test())


def test_what_is_received_while_the_client_goes_is_given_back() -> None:
    async def test() -> None:
        shelf, one = Shelf(), client()
        stream = made(shelf, one)
        running = asyncio.create_task(stream.run())
        await asyncio.sleep(0.01)
        await ended(stream, running)
        shelf.put("late")  # the wait that was broken off still gets it
        await until(lambda: shelf.fetched and shelf.waiting)
        assert shelf.taken == {}

    asyncio.run(test())


def test_for_a_client_that_does_not_read_ten_messages_are_received_and_no_more() -> None:
    async def test() -> None:
        shelf, one = Shelf(), client(reads=False)
        keys = [f"{number:04}-{'k' * 900}" for number in range(2_000)]
        for start in range(0, 2_000, 20):
            shelf.put(*keys[start : start + 20])
        stream = made(shelf, one)
        running = asyncio.create_task(stream.run())
        await until(lambda: shelf.taken)
        await asyncio.sleep(0.2)
        assert (shelf.fetched, len(shelf.waiting)) == (10, 90)
        one.reads.set()
        await one.until(2_000)
        assert sorted(one.keys()) == keys
        await ended(stream, running)

    asyncio.run(test())


def test_a_client_that_does_not_read_within_the_bound_gets_a_note() -> None:
    async def test() -> None:
        shelf, one = Shelf(), client(reads=False)
        shelf.put("a")
        with pytest.raises(EventsLostError, match="are lost: list the bucket"):
            await made(shelf, one, bound=0.01).run()

    asyncio.run(test())


def test_a_client_that_reads_too_slowly_gets_a_note_before_anything_is_dropped() -> None:
    async def test() -> None:
        shelf, one = Shelf(), client()

        async def slowly(text: bytes) -> None:
            await asyncio.sleep(0.03)
            await one.write(text)

        shelf.put("a")
        shelf.put("b")
        stream = made(shelf, one, bound=0.05)
        stream.write = slowly
        with pytest.raises(EventsLostError):
            await stream.run()
        assert one.keys() == ["a"]

    asyncio.run(test())


def test_what_waited_longer_than_the_bound_is_sent_too() -> None:
    async def test() -> None:
        shelf = Shelf()
        shelf.put("a", age=601)
        with pytest.raises(EventsLostError):
            await made(shelf, client()).run()

    asyncio.run(test())


def test_a_message_that_is_seen_again_is_written_once() -> None:
    async def test() -> None:
        shelf, one = Shelf(), client(reads=False)
        shelf.put("a")
        stream = made(shelf, one)
        running = asyncio.create_task(stream.run())
        await until(lambda: shelf.taken)
        (message,) = shelf.taken.values()
        shelf.taken.clear()
        shelf.waiting.append(message._replace(receipt="a newer one"))
        shelf.changed.set()
        one.reads.set()
        shelf.put("b")
        await one.until(2)
        await until(lambda: not shelf.taken)
        assert one.keys() == ["a", "b"]
        await ended(stream, running)

    asyncio.run(test())


def test_sqs_that_does_not_answer_is_waited_for_and_a_queue_that_is_gone_ends_it() -> None:
    async def test() -> None:
        shelf, one = Shelf(fails=[QueueTimeoutError("no answer")]), client()
        shelf.put("a")
        stream = made(shelf, one)
        running = asyncio.create_task(stream.run())
        await one.until(1)
        shelf.fails.append(QueueGoneError("no queue"))
        shelf.put("b")
        with pytest.raises(QueueGoneError):
            await running

    asyncio.run(test())


def test_an_unreadable_message_stops_nothing() -> None:
    async def test() -> None:
        shelf, one = Shelf(), client()
        shelf.waiting.append(Message("x", "x", "no envelope", round(WALL * 1_000)))
        shelf.put("a")
        stream = made(shelf, one)
        running = asyncio.create_task(stream.run())
        await one.until(1)
        await until(lambda: not shelf.taken)
        await ended(stream, running)

    asyncio.run(test())


def test_a_bounded_poll_writes_what_is_there_and_returns() -> None:
    async def test() -> None:
        shelf, one = Shelf(), client()
        shelf.put("a", "b")
        await made(shelf, one).once(5.0)
        assert one.keys() == ["a", "b"]
        assert (shelf.waiting, shelf.taken) == ([], {})
        await made(shelf, one).once(0.01)
        assert one.keys() == ["a", "b"]

    asyncio.run(test())
