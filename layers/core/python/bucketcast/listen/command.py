"""`bucketcast listen`: show a bucket's events as they happen.

It reads a queue of its own with the usual AWS credentials, like every other command: it needs
neither the gateway nor a gateway user.
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

from bucketcast.aws.clients import Aws, AwsError, aws_errors
from bucketcast.deployment import Deployed
from bucketcast.display import printable
from bucketcast.listen.aws.listeners import Listeners, Table
from bucketcast.listen.listener import KEPT_SECONDS, RENEWED_SECONDS, EventsLostError, ListenFilter
from bucketcast.notifications.aws import checks
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, shared

_AGAIN_SECONDS: Final = 2.0
_NO_SIZE: Final = "-"


def _where(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, str]:
    """Return bucket and prefix; "" is any."""
    if value is None:
        return "", ""
    bucket, slash, prefix = value.removeprefix("s3://").partition("/")
    return params.bucket_name(bucket), params.key_part(prefix) if slash else ""


def _events(text: str) -> tuple[str, ...]:
    return params.events(text, listening=True)


@click.command()
@click.argument("where", metavar="[s3://BUCKET[/PREFIX]]", required=False, callback=_where)
@click.option(
    "--event",
    "events",
    type=_events,
    metavar="EVENTS",
    default="put,delete,get",
    show_default=True,
    help="As in `event add`; also bucket-creation and bucket-removal.",
)
@click.option("--prefix", type=params.key_part, default="", help="Key prefix.")
@click.option("--suffix", type=params.key_part, default="", help="Key suffix.")
@shared
def command(
    out: Output,
    where: tuple[str, str],
    *,
    events: tuple[str, ...],
    prefix: str,
    suffix: str,
) -> None:
    """Show events as they happen until interrupted, of one bucket or of all.

    With --json each line is one event in the format of MinIO's listen API. Events of the minute
    after an interruption are shown when the same command is run again.

    \b
    Example:
      bucketcast listen s3://uploads/photos/ --event put --suffix .jpg
      bucketcast listen --event bucket-creation,bucket-removal --json
    """  # noqa: D301 - click reads the character
    bucket, path = where
    if path and prefix:
        raise click.UsageError(
            f"found both --prefix '{prefix}' and s3://{bucket}/{path}; give one of them"
        )
    deployment, aws = out.deployed()
    why = checks.why_not_attached(bucket, deployment, aws) if bucket else ""
    if why:
        out.note(f"note: {why}; connect it with `bucketcast bucket attach {bucket}`", always=True)
    user = f"{getpass.getuser()}@{socket.gethostname()} by bucketcast listen"
    listen_filter = ListenFilter(user, bucket, events, path or prefix, suffix)
    note = partial(out.note, always=True)
    show = _as_they_are if out.json else _for_people
    asyncio.run(_until_interrupted(_Listening(deployment, aws, listen_filter, show, note)))


async def _until_interrupted(session: "_Listening") -> None:
    listening = asyncio.create_task(session())
    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, listening.cancel)
    with suppress(asyncio.CancelledError):
        await listening


class _Listening:
    """A listening session, which starts again after AWS did not answer for a while."""

    def __init__(
        self,
        deployment: Deployed,
        aws: Aws,
        listen_filter: ListenFilter,
        show: Callable[[bytes], None],
        note: Callable[[str], None],
    ) -> None:
        from bucketcast.listen.aws.credentials import (  # noqa: PLC0415 - as above
            CredentialsProvider,
        )
        from bucketcast.listen.queue import Sqs  # noqa: PLC0415 - takes long to import

        prefix = deployment.ingress_queue.rpartition("/")[0]
        table = Table(deployment.state_table, aws.dynamodb)
        self._listeners = Listeners(
            deployment.stack, table, aws.sqs, lambda: prefix, kms_key=lambda: deployment.kms_key
        )
        meta = aws.sqs.meta
        self._sqs = Sqs(meta.endpoint_url, meta.region_name, CredentialsProvider())
        self._filter = listen_filter
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
        from bucketcast.listen.queue import (  # noqa: PLC0415 - takes long to import
            Queue,
            QueueGoneError,
        )
        from bucketcast.listen.stream import Stream  # noqa: PLC0415 - as above

        lose: list[Callable[[], None]] = []
        await self._try(self._listeners.renew)
        renewing = asyncio.create_task(self._renew(lose))
        try:
            one = await self._try(partial(self._listeners.take, self._filter))
            queue = Queue(self._listeners.url(one), self._sqs)
            stream = Stream(queue, self._write, warn=self._note)
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
        """Renew the listener; events were lost if it was not renewed for too long."""
        while True:
            await asyncio.sleep(RENEWED_SECONDS)
            with suppress(AwsError):
                if await self._try(self._listeners.renew) > KEPT_SECONDS:
                    for each in lose:
                        each()

    @staticmethod
    def _try(call: Callable[[], Any]) -> Awaitable[Any]:
        def explain() -> Any:
            with aws_errors():
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
    """Return `TIME  EVENT  BUCKET/KEY  SIZE`, with control characters escaped."""
    about = record["s3"]
    key = about["object"]["key"]
    path = f"{about['bucket']['name']}/{key}" if key else about["bucket"]["name"]
    size = str(about["object"].get("size", _NO_SIZE))
    return "  ".join((record["eventTime"], f"{record['eventName']:28}", printable(path), size))
