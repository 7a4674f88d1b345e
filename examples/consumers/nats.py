"""Print what the NATS target publishes, as it comes: time, name, bucket/key, size in bytes.

    pip install nats-py
    python examples/consumers/nats.py localhost:4222 bucketevents

Like any subscriber of core NATS it sees the events that are published while it runs. For a target
with `jetstream = "on"`, `--stream` reads the stream from its beginning, and with `--durable NAME`
it continues after the last event that it read. A login is in NATS_TOKEN, in NATS_USER and
NATS_PASSWORD, or in the file that NATS_CREDS names. It cannot read a channel of NATS Streaming, as
no Python client for that works any more; use stan.go.
"""

import argparse
import asyncio
import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

# Python looks for modules beside a script first, and this script has the client's name.
OWN = Path(__file__).resolve().parent
sys.path = [folder for folder in sys.path if Path(folder).resolve() != OWN]
import nats  # noqa: E402
from nats.aio.msg import Msg  # noqa: E402

LOGIN = {
    "token": "NATS_TOKEN",
    "user": "NATS_USER",
    "password": "NATS_PASSWORD",
    "user_credentials": "NATS_CREDS",
}
"""nats-py's options, and the variables that they come from."""


def line(record: dict[str, Any]) -> str:
    """Format one event. A key in a record is URL-encoded; a delete has no size."""
    s3 = record["s3"]
    key = unquote_plus(s3["object"]["key"])
    size = s3["object"].get("size", "-")
    name, at = record["eventName"], record["eventTime"]
    return f"{at:<24}  {name:<40}  {s3['bucket']['name']}/{key}  {size}"


async def show(message: Msg) -> None:
    """Print the event of a message."""
    print(line(json.loads(message.data)["Records"][0]), flush=True)


async def listen(options: argparse.Namespace) -> None:
    """Print each event, forever."""
    failed: list[Exception] = []
    ended = asyncio.Event()

    async def note(error: Exception) -> None:
        failed.append(error)
        if not client.is_connected:
            raise error  # otherwise it would retry silently

    async def end() -> None:
        ended.set()

    client = nats.NATS()
    login = {
        name: os.environ[variable] for name, variable in LOGIN.items() if variable in os.environ
    }
    await client.connect(
        f"nats://{options.address}",
        error_cb=note,
        closed_cb=end,
        allow_reconnect=False,
        **login,
    )
    if options.stream:
        stream = client.jetstream()
        await stream.subscribe(options.subject, durable=options.durable, cb=show)
    else:
        await client.subscribe(options.subject, cb=show)
    await client.flush()
    if failed:
        raise failed[0]
    print(f"waiting for events of {options.subject}", flush=True)
    await ended.wait()
    raise client.last_error or ConnectionError("the server ended the connection")


def main() -> None:
    """Listen until interrupted."""
    parser = argparse.ArgumentParser(description="Print what the NATS target publishes.")
    parser.add_argument("address", help="the server, such as localhost:4222")
    parser.add_argument("subject", help="the target's subject")
    parser.add_argument("--stream", action="store_true", help="read the stream of the subject")
    parser.add_argument("--durable", help="name of the stream's durable consumer")
    options = parser.parse_args()
    try:
        asyncio.run(listen(options))
    except (nats.errors.Error, OSError) as error:
        sys.exit(f"cannot read {options.subject}: {error}")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
