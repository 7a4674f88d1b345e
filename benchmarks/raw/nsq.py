"""A bare socket with one MPUB per batch, which is faster than all published clients."""

import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from benchmarks.raw import Batch, Writer
from bucketcast.event import Event
from bucketcast.shapes import minio

IDENTIFY = b'{"feature_negotiation":true,"heartbeat_interval":-1}'
OK = struct.pack(">ii", 6, 0) + b"OK"


def rows(events: Sequence[Event]) -> Batch:
    return [minio.log(event) for event in events]


@contextmanager
def writer(settings: dict[str, str]) -> Iterator[Writer]:
    host, _, port = settings["nsqd_address"].rpartition(":")
    nsqd = socket.create_connection((host, int(port)))
    nsqd.sendall(b"  V2IDENTIFY\n" + _with_length(IDENTIFY))
    nsqd.recv(4096)
    nsqd.sendall(b"AUTH\n" + _with_length(settings["auth_secret"].encode()))
    nsqd.recv(4096)
    command = f"MPUB {settings['topic']}.raw\n".encode()

    def write(batch: Batch) -> None:
        messages = b"".join(map(_with_length, batch))
        nsqd.sendall(command + _with_length(struct.pack(">i", len(batch)) + messages))
        if nsqd.recv(len(OK), socket.MSG_WAITALL) != OK:
            raise RuntimeError("nsqd refused the batch")

    yield write
    nsqd.close()


def _with_length(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data
