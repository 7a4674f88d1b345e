"""Print what the NSQ target sends, as it comes: time, name, bucket/key, size in bytes.

    python examples/consumers/nsq.py localhost:4150 bucketevents

It does what `nsq_tail` does: it reads a channel of its own, which is deleted when it ends, so that
other consumers still get every event. With a channel's name after the topic it reads that channel,
which keeps events while nobody reads, and delivers each to one reader. For an nsqd that requires a
secret, set NSQ_AUTH_SECRET. In a program of your own, use a client library such as pynsq.
"""

import argparse
import contextlib
import json
import os
import socket
import struct
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote_plus

MESSAGE, HEARTBEAT, SUBSCRIBED = 2, b"_heartbeat_", b"OK"


def events(nsqd: socket.socket, topic: str, channel: str) -> Iterator[dict[str, Any]]:
    """Yield each event's record, forever; it is confirmed to nsqd when the next is requested."""
    answers = nsqd.makefile("rb")
    send(nsqd, f"SUB {topic} {channel}\n")
    send(nsqd, "RDY 1\n")
    while head := answers.read(8):
        size, type_ = struct.unpack(">ii", head)
        data = answers.read(size - 4)
        if type_ == MESSAGE:  # 8 bytes of time, 2 of attempts, 16 of id
            yield json.loads(data[26:])["Records"][0]
            send(nsqd, f"FIN {data[10:26].decode()}\n")
        elif data == HEARTBEAT:
            send(nsqd, "NOP\n")
        elif data == SUBSCRIBED:
            print(f"waiting for events of {topic}", file=sys.stderr, flush=True)
        elif data.startswith(b"E_"):
            raise ConnectionError(data.decode())


def send(nsqd: socket.socket, command: str, body: bytes | None = None) -> None:
    """Send a command, and its body behind the body's length.

    An nsqd that has closed the connection is no error here: what it sent before says why, and is
    read next.
    """
    counted = b"" if body is None else struct.pack(">i", len(body)) + body
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        nsqd.sendall(command.encode() + counted)


def line(record: dict[str, Any]) -> str:
    """Format one event. A key in a record is URL-encoded; a delete has no size."""
    s3 = record["s3"]
    key = unquote_plus(s3["object"]["key"])
    size = s3["object"].get("size", "-")
    name, at = record["eventName"], record["eventTime"]
    return f"{at:<24}  {name:<40}  {s3['bucket']['name']}/{key}  {size}"


def main() -> None:
    """Read until interrupted, or until nsqd ends."""
    parser = argparse.ArgumentParser(description="Print what the NSQ target sends.")
    parser.add_argument("nsqd", help="host:port, such as localhost:4150")
    parser.add_argument("topic", help="the target's topic")
    parser.add_argument("channel", nargs="?", default=f"tail{os.getpid()}#ephemeral")
    options = parser.parse_args()
    host, _, port = options.nsqd.rpartition(":")
    try:
        with socket.create_connection((host, int(port))) as nsqd:
            send(nsqd, "  V2")
            if secret := os.environ.get("NSQ_AUTH_SECRET"):
                send(nsqd, "AUTH\n", secret.encode())
            for record in events(nsqd, options.topic, options.channel):
                print(line(record), flush=True)
    except (OSError, ValueError) as error:
        sys.exit(f"cannot read {options.topic}: {error}")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
