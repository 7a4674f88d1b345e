"""The consumer in examples/ reads what the NSQ target delivered to a real nsqd."""

import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bucketcast.settings.options import read
from bucketcast.targets.nsq import Target
from tests.contract.trial import DELETE, HANGS_AFTER, event
from tests.servers import Server
from tests.servers.machine import ports
from tests.servers.nsq import SECRET, NsqServer

EXAMPLE = Path(__file__).parents[2] / "examples" / "consumers" / "nsq.py"
PRINTED = [
    ["2026-01-02T03:00:00.042Z", "s3:ObjectCreated:Put", "uploads/größe", "b.jpg", "42"],
    ["2026-01-02T03:00:00.043Z", "s3:ObjectRemoved:Delete", "uploads/größe", "b.jpg", "-"],
]


@pytest.fixture
def nsqd(server: Callable[[str], Server]) -> NsqServer:
    found = server("nsq")
    assert isinstance(found, NsqServer)
    return found


@contextmanager
def consumer(nsqd: NsqServer, *more: str, secret: str = SECRET) -> Iterator[subprocess.Popen[str]]:
    program = subprocess.Popen(
        [sys.executable, EXAMPLE, nsqd.address, nsqd.destination, *more],
        env={**os.environ, "NSQ_AUTH_SECRET": secret, "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    with program:
        yield program
        program.terminate()


def deliver(nsqd: NsqServer) -> None:
    with Target(read(Target.Settings, nsqd.settings())) as target:
        assert target.send([event("größe b.jpg", 42), event("größe b.jpg", 43, DELETE)]) == {}


def lines(program: subprocess.Popen[str], count: int) -> list[list[str]]:
    assert program.stdout is not None
    return [program.stdout.readline().split() for _ in range(count)]


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
    with consumer(nsqd) as program:
        wait_for_channel(nsqd)
        deliver(nsqd)
        assert lines(program, 2) == PRINTED


def test_a_channel_keeps_events_until_they_are_read(nsqd: NsqServer) -> None:
    nsqd.ask(f"/topic/create?topic={nsqd.destination}", "POST")
    nsqd.ask(f"/channel/create?topic={nsqd.destination}&channel=mine", "POST")
    deliver(nsqd)
    deliver(nsqd)
    with consumer(nsqd, "mine") as program:
        # It has told nsqd of three at least when it prints the fourth.
        assert lines(program, 4) == [*PRINTED, *PRINTED]
    assert nsqd.ask("/stats?format=json")["topics"][0]["channels"][0]["depth"] == 0


@pytest.mark.parametrize(
    ("secret", "expected"), [("wr0ng-s3cret", "E_AUTH_FAILED"), ("", "E_AUTH_FIRST")]
)
def test_a_refusal_is_reported(nsqd: NsqServer, secret: str, expected: str) -> None:
    with consumer(nsqd, secret=secret) as program:
        printed, complaint = program.communicate(timeout=HANGS_AFTER)
    assert (program.returncode, printed) == (1, "")
    assert complaint.startswith(f"cannot read {nsqd.destination}: {expected}")
    assert "s3cret" not in complaint


def test_the_reason_is_read_when_the_connection_was_reset(tmp_path: Path) -> None:
    """The server may be gone before the consumer has written its next command."""
    port = ports(tmp_path, "nsqd")["nsqd"]
    reason = b"E_BAD_TOPIC no such topic"
    with socket.create_server(("127.0.0.1", port)) as listener:
        program = subprocess.Popen(
            [sys.executable, EXAMPLE, f"127.0.0.1:{port}", "topic"],
            stderr=subprocess.PIPE,
            text=True,
        )
        with program:
            client, _ = listener.accept()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.sendall(struct.pack(">ii", len(reason) + 4, 1) + reason)
            client.close()
            _, complaint = program.communicate(timeout=HANGS_AFTER)
    assert program.returncode == 1
    assert complaint == f"cannot read topic: {reason.decode()}\n"
