"""Print what the NATS target publishes, as it comes: time, name, bucket/key, size in bytes.

    pip install nats-py
    NATS_TOKEN=… python examples/consumers/nats.py localhost:4222 bucketevents

and in bucketcast.toml:

    [notify_nats.primary]
    address = "localhost:4222"
    subject = "bucketevents"

Like any reader of core NATS it sees what comes while it listens. With `--stream` it reads the
stream that has the subject, `jetstream = "on"`, from its beginning, and with `--durable NAME` it
goes on where it was when it was last there. The login is in NATS_TOKEN, in NATS_USER with
NATS_PASSWORD, or in the file that NATS_CREDS names. A channel of NATS Streaming is not read here:
for Python no client of it works any more, stan.go does.
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
sys.path = [folder for folder in sys.path if Path(folder) != Path(__file__).parent]
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
    """One event for people. A key in a record is URL-encoded; a delete has no size."""
    place = record["s3"]
    key = unquote_plus(place["object"]["key"])
    size = place["object"].get("size", "-")
    name, at = record["eventName"], record["eventTime"]
    return f"{at:<24}  {name:<40}  {place['bucket']['name']}/{key}  {size}"


async def show(message: Msg) -> None:
    """Print the event of a message."""
    print(line(json.loads(message.data)["Records"][0]), flush=True)


async def listen(options: argparse.Namespace) -> None:
    """Show what comes, for ever."""
    failed: list[Exception] = []
    ended = asyncio.Event()

    async def note(error: Exception) -> None:
        failed.append(error)
        if not client.is_connected:
            raise error  # otherwise it would go on trying without a word

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
    parser.add_argument("--durable", help="the name by which the stream knows this reader")
    options = parser.parse_args()
    try:
        asyncio.run(listen(options))
    except (nats.errors.Error, OSError) as error:
        sys.exit(f"cannot read {options.subject}: {error}")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
