"""`bucketcast listen`: show a bucket's events as they happen.

Like every other command it uses the AWS credentials, and reads a queue of its own: it needs neither
the gateway nor a gateway user.
"""

import asyncio
import getpass
import json
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import click

from bucketcast.aws.clients import Aws, AwsError, aws_errors
from bucketcast.deployment import Deployed
from bucketcast.display import printable
from bucketcast.event import Event
from bucketcast.listen.aws.listeners import Listeners, Table
from bucketcast.listen.listener import KEEP_SECONDS, RENEWAL_SECONDS, EventsLostError, ListenFilter
from bucketcast.notifications.aws import checks
from bucketcast.shapes import minio
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, shared

_RETRY_SECONDS: Final = 2.0
_NO_SIZE: Final = "-"


def _bucket_and_prefix(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, str]:
    """Return bucket and prefix, "" for any."""
    if value is None:
        return "", ""
    bucket, slash, prefix = value.removeprefix("s3://").partition("/")
    return params.bucket_name(bucket), params.key_part(prefix) if slash else ""


@click.command()
@click.argument(
    "source", metavar="[s3://BUCKET[/PREFIX]]", required=False, callback=_bucket_and_prefix
)
@params.event_option(
    "As in `event add`; also bucket-creation and bucket-removal.",
    partial(params.events, listening=True),
    default=["put,delete,get"],
)
@click.option("--prefix", type=params.key_part, metavar="TEXT", default="", help="Key prefix.")
@click.option("--suffix", type=params.key_part, metavar="TEXT", default="", help="Key suffix.")
@shared
def command(
    out: Output,
    source: tuple[str, str],
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
    bucket, path = source
    if path and prefix:
        raise click.UsageError(
            f"found both --prefix '{prefix}' and s3://{bucket}/{path}; give one of them"
        )
    deployment, aws = out.deployed()
    listen_filter = ListenFilter(user("listen"), bucket, events, path or prefix, suffix)
    reason = ""
    if listen_filter.of_all_objects:
        reason = checks.not_heard(listen_filter.rule, deployment, aws)
    elif bucket:
        reason = checks.why_not_heard([listen_filter.rule(bucket)], deployment, aws)
    if reason:
        out.note(f"note: {reason}", always=True)
    note = partial(out.note, always=True)
    show = _print_json if out.json else _print_lines
    asyncio.run(_until_interrupted(Session(deployment, aws, listen_filter, show, note)))


def user(command: str) -> str:
    """Return who listens, for a filter of a command."""
    return f"{getpass.getuser()}@{socket.gethostname()} by bucketcast {command}"


async def _until_interrupted(session: "Session") -> None:
    listening = asyncio.create_task(session())
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(signal_number, listening.cancel)
    with suppress(asyncio.CancelledError):
        await listening


@dataclass
class Session:
    """Listens until cancelled; starts again after AWS did not answer for a while.

    `show` gets, in a thread, what `line` returns of arriving events; `note` gets what went wrong.
    `began` is called when no later event will be missed.
    """

    deployment: Deployed
    aws: Aws
    listen_filter: ListenFilter
    show: Callable[[bytes], None]
    note: Callable[[str], None]
    line: Callable[[Event], bytes] = minio.listen_line
    began: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        from bucketcast.listen.aws.credentials import (  # noqa: PLC0415 - takes long to import
            CredentialsProvider,
        )
        from bucketcast.listen.queue import Sqs  # noqa: PLC0415 - as above

        deployment, sqs = self.deployment, self.aws.sqs
        prefix = deployment.ingress_queue.rpartition("/")[0]
        table = Table(deployment.state_table, self.aws.dynamodb)
        self._listeners = Listeners(
            deployment.stack, table, sqs, lambda: prefix, kms_key=lambda: deployment.kms_key
        )
        self._sqs = Sqs(sqs.meta.endpoint_url, sqs.meta.region_name, CredentialsProvider())

    async def __call__(self) -> None:
        try:
            await self._call_aws(self._listeners.sweep)
            while True:
                await self._listen_or_wait()
        finally:
            await self._sqs.close()

    async def _listen_or_wait(self) -> None:
        """Listen; wait a little if AWS does not answer."""
        try:
            await self._listen()
        except AwsError as error:
            if not error.silent:
                raise
            self.note(f"note: {error}; trying again")
            await asyncio.sleep(_RETRY_SECONDS)

    async def _listen(self) -> None:
        """Listen until the queue is removed."""
        from bucketcast.listen.queue import (  # noqa: PLC0415 - takes long to import
            Queue,
            QueueNotFoundError,
        )
        from bucketcast.listen.stream import Stream  # noqa: PLC0415 - as above

        report_loss: list[Callable[[], None]] = []
        await self._call_aws(self._listeners.renew)
        renewing = asyncio.create_task(self._renew(report_loss))
        try:
            listener = await self._call_aws(partial(self._listeners.acquire, self.listen_filter))
            queue = Queue(self._listeners.url(listener), self._sqs)
            stream = Stream(queue, self._write, warn=self.note, line=self.line)
            report_loss.append(stream.report_loss)
            self.began()
            try:
                await stream.run()
            except QueueNotFoundError:
                await self._call_aws(partial(self._listeners.remove, listener))
            except EventsLostError:
                await self._call_aws(partial(self._listeners.remove, listener))
                raise
            finally:
                with suppress(AwsError):
                    await self._call_aws(partial(self._listeners.release, listener))
        finally:
            renewing.cancel()

    async def _write(self, lines: bytes) -> None:
        await asyncio.to_thread(self.show, lines)

    async def _renew(self, report_loss: Sequence[Callable[[], None]]) -> None:
        """Renew the listener; events were lost if it was not renewed for too long."""
        while True:
            await asyncio.sleep(RENEWAL_SECONDS)
            with suppress(AwsError):
                if await self._call_aws(self._listeners.renew) > KEEP_SECONDS:
                    for report in report_loss:
                        report()

    @staticmethod
    def _call_aws(call: Callable[[], Any]) -> Awaitable[Any]:
        return asyncio.to_thread(aws_errors()(call))


def _print_json(lines: bytes) -> None:
    sys.stdout.buffer.write(lines)
    sys.stdout.flush()


def _print_lines(lines: bytes) -> None:
    for line in lines.splitlines():
        for record in json.loads(line)["Records"]:
            sys.stdout.write(f"{_format(record)}\n")
    sys.stdout.flush()


def _format(record: dict[str, Any]) -> str:
    """Return `TIME  EVENT  BUCKET/KEY  SIZE`, with control characters escaped."""
    bucket, object_ = record["s3"]["bucket"]["name"], record["s3"]["object"]
    path = f"{bucket}/{object_['key']}" if object_["key"] else bucket
    size = str(object_.get("size", _NO_SIZE))
    return "  ".join((record["eventTime"], f"{record['eventName']:28}", printable(path), size))
