"""The consumer in examples/ reads what the NSQ target delivered to a real nsqd."""

import socket
import struct
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from bucketcast.settings.options import read
from bucketcast.targets.nsq import Target
from tests.contract.consumers import Consumer, consumer, failure, words
from tests.contract.trial import DELETE, HANGS_AFTER, event
from tests.servers import Server
from tests.servers.machine import ports
from tests.servers.nsq import SECRET, NsqServer

PRINTED = [
    ["2026-01-02T03:00:00.042Z", "s3:ObjectCreated:Put", "uploads/größe", "b.jpg", "42"],
    ["2026-01-02T03:00:00.043Z", "s3:ObjectRemoved:Delete", "uploads/größe", "b.jpg", "-"],
]


@pytest.fixture
def nsqd(server: Callable[[str], Server]) -> NsqServer:
    found = server("nsq")
    assert isinstance(found, NsqServer)
    return found


def reader(nsqd: NsqServer, *more: str, secret: str = SECRET) -> AbstractContextManager[Consumer]:
    return consumer("nsq", nsqd.address, nsqd.destination, *more, NSQ_AUTH_SECRET=secret)


def deliver(nsqd: NsqServer) -> None:
    with Target(read(Target.Settings, nsqd.settings())) as target:
        assert target.send([event("größe b.jpg", 42), event("größe b.jpg", 43, DELETE)]) == {}


def wait_for_channel(nsqd: NsqServer) -> None:
    """Until the consumer has one: what comes before is not for it."""
    end = time.monotonic() + HANGS_AFTER
    while time.monotonic() < end:
        topics = nsqd.ask("/stats?format=json")["topics"]
        if any(channel["clients"] for topic in topics for channel in topic["channels"]):
            return
        time.sleep(0.02)
    pytest.fail("the consumer did not subscribe")


def test_it_shows_events_from_now_on(nsqd: NsqServer) -> None:
    nsqd.configure(mem_queue_size=None)  # where a channel without a disk has its events
    with reader(nsqd) as program:
        wait_for_channel(nsqd)
        deliver(nsqd)
        assert [words(program) for _ in range(2)] == PRINTED


def test_a_channel_keeps_events_until_they_are_read(nsqd: NsqServer) -> None:
    nsqd.ask(f"/topic/create?topic={nsqd.destination}", "POST")
    nsqd.ask(f"/channel/create?topic={nsqd.destination}&channel=mine", "POST")
    deliver(nsqd)
    deliver(nsqd)
    with reader(nsqd, "mine") as program:
        # It has told nsqd of three at least when it prints the fourth.
        assert [words(program) for _ in range(4)] == [*PRINTED, *PRINTED]
    assert nsqd.ask("/stats?format=json")["topics"][0]["channels"][0]["depth"] == 0


@pytest.mark.parametrize(
    ("secret", "expected"), [("wr0ng-s3cret", "E_AUTH_FAILED"), ("", "E_AUTH_FIRST")]
)
def test_a_refusal_is_reported(nsqd: NsqServer, secret: str, expected: str) -> None:
    with reader(nsqd, secret=secret) as program:
        reason = failure(program)
    assert reason.startswith(f"cannot read {nsqd.destination}: {expected}")
    assert "s3cret" not in reason


def test_the_reason_is_read_when_the_connection_was_reset(tmp_path: Path) -> None:
    """The server may be gone before the consumer has written its next command."""
    port = ports(tmp_path, "nsqd")["nsqd"]
    reason = b"E_BAD_TOPIC no such topic"
    with (
        socket.create_server(("127.0.0.1", port)) as listener,
        consumer("nsq", f"127.0.0.1:{port}", "topic") as program,
    ):
        client, _ = listener.accept()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.sendall(struct.pack(">ii", len(reason) + 4, 1) + reason)
        client.close()
        assert failure(program) == f"cannot read topic: {reason.decode()}\n"
