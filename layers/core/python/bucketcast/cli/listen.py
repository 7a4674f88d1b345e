"""`bucketcast listen`: a bucket's events as they happen.

It reads a queue of its own with the ordinary AWS login, as every other command: no gateway need
run, and no user be made.
"""

import asyncio
import getpass
import json
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

import click

from bucketcast import names
from bucketcast.cli import words
from bucketcast.cli.screen import Screen, shared
from bucketcast.listening import KEPT_SECONDS, RENEWED_SECONDS, Asked, EventsLostError
from bucketcast.printable import printable
from bucketcast.store import deployed
from bucketcast.store.access import Aws, AwsError, explained
from bucketcast.store.deployed import Deployed
from bucketcast.store.listeners import Listeners, Table

_AGAIN_SECONDS: Final = 2.0
_NO_SIZE: Final = "-"


def _where(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, str]:
    """Bucket and prefix; "" is any."""
    if value is None:
        return "", ""
    bucket, slash, prefix = value.removeprefix("s3://").partition("/")
    return words.bucket_name(bucket), words.key_part(prefix) if slash else ""


def _events(_: click.Context, __: click.Parameter, value: str) -> tuple[str, ...]:
    try:
        return names.from_words(value, listening=True)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command()
@click.argument("where", metavar="[s3://BUCKET[/PREFIX]]", required=False, callback=_where)
@click.option(
    "--event",
    "events",
    callback=_events,
    metavar="EVENTS",
    default="put,delete,get",
    show_default=True,
    help="As in `event add`; also bucket-creation and bucket-removal.",
)
@click.option("--prefix", type=words.key_part, default="", help="What the key begins with.")
@click.option("--suffix", type=words.key_part, default="", help="What the key ends with.")
@shared
@click.pass_obj
def command(
    screen: Screen,
    where: tuple[str, str],
    *,
    events: tuple[str, ...],
    prefix: str,
    suffix: str,
) -> None:
    """Show events as they happen, until interrupted; without a bucket, those of all buckets.

    With --json each line is one event, as MinIO's listen calls give it. What happens within a
    minute after an interruption is shown when the same is asked for again.

    \b
    Example:
      bucketcast listen s3://uploads/photos/ --event put --suffix .jpg
      bucketcast listen --event bucket-creation,bucket-removal --json
    """  # noqa: D301 - click reads the character
    bucket, path = where
    if path and prefix:
        raise click.UsageError(f"--prefix '{prefix}' beside s3://{bucket}/{path}: name one")
    aws = screen.aws()
    there = deployed.find(screen.stack, aws)
    why = deployed.why_not_wired(bucket, there, aws) if bucket else ""
    if why:
        screen.note(f"note: {why}; `bucketcast attach {bucket}` makes them come")
    user = f"{getpass.getuser()}@{socket.gethostname()} by bucketcast listen"
    asked = Asked(user, bucket, events, path or prefix, suffix)
    show = _as_they_are if screen.json else _for_people
    asyncio.run(_until_interrupted(_Hearing(there, aws, asked, show, screen.note)))


async def _until_interrupted(hearing: "_Hearing") -> None:
    listening = asyncio.create_task(hearing())
    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, listening.cancel)
    with suppress(asyncio.CancelledError):
        await listening


class _Hearing:
    """Listens, and begins again where AWS does not answer for a while."""

    def __init__(
        self,
        there: Deployed,
        aws: Aws,
        asked: Asked,
        show: Callable[[bytes], None],
        note: Callable[[str], None],
    ) -> None:
        from bucketcast.control.listen.queue import Sqs  # noqa: PLC0415 - takes long to import
        from bucketcast.control.listen.quiet import Quiet  # noqa: PLC0415 - as above
        from bucketcast.store.login import Logins  # noqa: PLC0415 - as above

        prefix = there.ingress_queue.rpartition("/")[0]
        table = Table(there.rules_table, aws.dynamodb)
        self._listeners = Listeners(there.stack, table, aws.sqs, lambda: prefix)
        meta = aws.sqs.meta
        self._sqs = Sqs(meta.endpoint_url, meta.region_name, Logins())
        self._quiet = Quiet(lambda: self._sqs.depth(there.ingress_queue))
        self._asked = asked
        self._show = show
        self._note = note

    async def __call__(self) -> None:
        try:
            await self._try(self._listeners.sweep)
            while True:
                await self._again_when_silent()
        finally:
            await self._sqs.close()

    async def _again_when_silent(self) -> None:
        try:
            await self._once()
        except AwsError as error:
            if not error.silent:
                raise
            self._note(f"note: {error}; trying again")
            await asyncio.sleep(_AGAIN_SECONDS)

    async def _once(self) -> None:
        """Listen until the queue is gone."""
        from bucketcast.control.listen.queue import (  # noqa: PLC0415 - takes long to import
            QueueGoneError,
            SqsQueue,
        )
        from bucketcast.control.listen.stream import Pulse, Stream  # noqa: PLC0415 - as above

        lose: list[Callable[[], None]] = []
        await self._try(self._listeners.renew)
        renewing = asyncio.create_task(self._renew(lose))
        try:
            one = await self._try(partial(self._listeners.take, self._asked))
            queue = SqsQueue(self._listeners.url(one), self._sqs)
            pulse = Pulse(60.0, shown=False)
            stream = Stream(queue, self._quiet, self._write, pulse, warn=self._note)
            lose.append(stream.lose)
            try:
                await stream.run()
            except QueueGoneError:
                await self._try(partial(self._listeners.remove, one))
            except EventsLostError:
                await self._try(partial(self._listeners.remove, one))
                raise
            finally:
                with suppress(AwsError):
                    await self._try(partial(self._listeners.release, one))
        finally:
            renewing.cancel()

    async def _write(self, text: bytes) -> None:
        await asyncio.to_thread(self._show, text)

    async def _renew(self, lose: Sequence[Callable[[], None]]) -> None:
        """Hold the listener; it lost events where it was not held for longer than it is kept."""
        while True:
            await asyncio.sleep(RENEWED_SECONDS)
            with suppress(AwsError):
                if await self._try(self._listeners.renew) > KEPT_SECONDS:
                    for each in lose:
                        each()

    @staticmethod
    def _try(call: Callable[[], Any]) -> Awaitable[Any]:
        def explain() -> Any:
            with explained():
                return call()

        return asyncio.to_thread(explain)


def _as_they_are(text: bytes) -> None:
    sys.stdout.buffer.write(text)
    sys.stdout.flush()


def _for_people(text: bytes) -> None:
    for line in text.splitlines():
        for record in json.loads(line)["Records"]:
            sys.stdout.write(f"{_shown(record)}\n")
    sys.stdout.flush()


def _shown(record: dict[str, Any]) -> str:
    """`TIME  EVENT  BUCKET/KEY  SIZE`, with nothing hidden in it."""
    about = record["s3"]
    key = about["object"]["key"]
    place = f"{about['bucket']['name']}/{key}" if key else about["bucket"]["name"]
    size = str(about["object"].get("size", _NO_SIZE))
    return "  ".join((record["eventTime"], f"{record['eventName']:28}", printable(place), size))
