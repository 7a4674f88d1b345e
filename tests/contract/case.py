"""A case of the suite for all kinds: a kind, its real server and its layout.

Nothing here names a kind: the layouts of a kind are the choices of its option
`format`, and a behaviour that a kind lacks is a waiver (`waivers.py`).
"""

import json
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeVar, get_args
from urllib.parse import unquote_plus

import msgspec
import pytest

from bucketcast import shapes, targets
from bucketcast.errors import BreakerOpen, DeliveryError
from bucketcast.event import Event
from bucketcast.settings.options import options_of, read
from bucketcast.shapes import minio
from bucketcast.targets.base import Target
from tests import servers
from tests.servers import Arrival, Server, Settings

PUT, DELETE = "s3:ObjectCreated:Put", "s3:ObjectRemoved:Delete"
TAGGED = "s3:ObjectCreated:PutTagging"
DAY = f"{datetime.now(UTC) - timedelta(days=1):%Y-%m-%d}"
"""The day of all events: mirrors refuse what happened long ago."""
UNUSUAL_KEYS = (
    "a b",
    "a+b",
    "100%25 %zz %",
    "photos//2026/./../x/",
    "/leading",
    'it\'s "quoted" `so`',
    "back\\slash \\n \\u0041",
    "\\N\n\\.",
    "line\nbreak\ttab\r\x01\x7f",
    "größe-été-写真-😀-👩‍👩‍👧",
    "e\u0301 is not \u00e9",
    '{"json": ["[1]", "$.x"]}',
    "#?&;=<>|*{}[]^~$1%s",
    "k" * 1024,
    "😀" * 256,
    "\uffff",
)
HANGS_AFTER = 180.0
"""Seconds until a call counts as hung: far more than any takes, as machines may be busy."""
SHORT_TIMEOUT = {"timeout": "1s"}
"""Given where there is such an option, so that a test does not wait for what never comes."""
ONE_BY_ONE = {"in_flight": "1"}
"""Given where there is such an option and the order matters."""
SECRET_MARK = "s3cret"
"""Part of each password of the test servers, and of nothing else."""

T = TypeVar("T")


class Layout(NamedTuple):
    """A kind, its server's name, and the choices of its options `format` and `shape`.

    `format` is "" where the kind has no such option, `shape` where it is not what a test is about.
    """

    kind: str
    server: str
    format: str
    shape: str = ""

    @property
    def mirrors(self) -> bool:
        """Whether it keeps a row an object, rather than all events."""
        return self.format == "namespace"

    def __str__(self) -> str:
        return "-".join(filter(None, self[1:]))


def layouts(kind: str) -> Iterator[Layout]:
    """Yield the layouts of a kind."""
    declared: Any = targets.load(kind).Settings
    option = options_of(declared).get("format")
    for server in servers.names(kind):
        for choice in option.type.split("|") if option else ("",):
            yield Layout(kind, server, choice)


def in_each_shape(kind: str) -> Iterator[Layout]:
    """Yield each layout of a kind, in each shape that it supports."""
    names = set(get_args(shapes.Name))
    if targets.load(kind).attributes_prefix is None:
        names.remove("cloudevents-binary")
    for layout in layouts(kind):
        for name in ["minio"] if layout.mirrors else sorted(names):
            yield layout._replace(shape=name)


def event(key: str, at: int = 1, name: str = PUT, **fields: Any) -> Event:
    """Return an event in the bucket uploads at `at` ms, with an equal sequencer."""
    time = f"{DAY}T03:{at // 60_000:02}:{at // 1000 % 60:02}.{at % 1000:03}Z"
    values = {"bucket": "uploads", "time": time, "sequencer": f"{at:X}", **fields}
    if name == PUT:
        values = {"size": at, "etag": f"e{at}", **values}
    return Event(name=name, key=key, stored=msgspec.Raw(b"{}"), **values)


def tagged(key: str, at: int, **fields: Any) -> Event:
    """Return S3's event of new tags, which has no sequencer."""
    return event(key, at, TAGGED, **{"sequencer": "", **fields})


def events(count: int, prefix: str = "photo") -> list[Event]:
    """Return puts of different keys, in the order of their keys and times."""
    return [event(f"{prefix}-{at:05}", at) for at in range(1, count + 1)]


def record_of(body: bytes) -> dict[str, Any]:
    """Return MinIO's record in a body, with or without a time."""
    document = json.loads(body)
    if isinstance(document, list):  # the time beside it
        (_, document) = document
    (record,) = document["Records"]
    return dict(record)


def path_of(arrival: Arrival) -> str:
    """Return the `bucket/key` in the body of an arrival."""
    s3 = record_of(arrival.body)["s3"]
    return f"{s3['bucket']['name']}/{unquote_plus(s3['object']['key'])}"


def bounded(call: Callable[[], T]) -> T:
    """Return the result of `call`, or raise its error; a call that hangs fails the test."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised again below, in the test
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    if not wait([future], HANGS_AFTER).done:
        pytest.fail(f"{call} did not come back within {HANGS_AFTER:.0f} s")
    return future.result()


class Sender:
    """A target with time limits, whose errors are kept to be searched for secrets."""

    def __init__(self, target: Target, printed: list[str]) -> None:
        self.target = target
        self._printed = printed

    def send(self, events: Sequence[Event]) -> dict[int, DeliveryError]:
        """Return the failures by index; an error that was raised counts for each."""
        try:
            failures = dict(bounded(lambda: self.target.send(events)))
        except DeliveryError as error:
            failures = dict.fromkeys(range(len(events)), error)
        assert failures.keys() <= set(range(len(events)))
        for reason in {id(reason): reason for reason in failures.values()}.values():
            self._keep(reason)
        return failures

    def send_until_delivered(self, events: Sequence[Event]) -> None:
        """Send, and again what failed, as the queue would: a server may be busy for a while."""
        give_up = time.monotonic() + HANGS_AFTER
        left = list(events)
        while left:
            left = [left[index] for index in sorted(self.send(left))]
            assert not left or time.monotonic() < give_up

    def send_twice_at_most(self, events: Sequence[Event]) -> None:
        """Send, and retry failed events once, as the queue would."""
        failures = self.send(events)
        retried = [events[index] for index in sorted(failures)]
        failed = self.send(retried) if retried else {}
        assert not failed, (
            f"{len(failed)} of {len(retried)} failed twice: {list(failed.values())[:3]}"
        )

    def refusal(self, events: Sequence[Event]) -> DeliveryError:
        """Return the single reason why none of these arrived."""
        failures = self.send(events)
        assert failures.keys() == set(range(len(events))), "some arrived"
        sent = [error for error in failures.values() if not isinstance(error, BreakerOpen)]
        assert len({type(error) for error in sent}) == 1
        return failures[0]

    def probe(self) -> DeliveryError | None:
        """Return the error of a probe; None if it succeeded."""
        try:
            bounded(self.target.probe)
        except DeliveryError as error:
            self._keep(error)
            return error
        return None

    def close(self) -> None:
        bounded(self.target.close)

    def _keep(self, error: DeliveryError) -> None:
        self._printed += [repr(error), *traceback.format_exception(error)]


class Case:
    """A running server without events, and targets that deliver to it in one layout."""

    def __init__(self, layout: Layout, server: Server) -> None:
        self.layout = layout
        self.server = server
        self.kind = targets.load(layout.kind)
        declared: Any = self.kind.Settings
        self.options = options_of(declared)
        self.printed: list[str] = []
        self._senders: list[Sender] = []

    def layout_settings(self, given: Settings | None = None, **overrides: str) -> Settings:
        """Return the given settings, by default the server's, for the layout."""
        settings = self.server.settings() if given is None else given
        choices = {"format": self.layout.format, "shape": self.layout.shape}
        return {**settings, **{key: value for key, value in choices.items() if value}, **overrides}

    def sender(self, settings: Settings | None = None, **overrides: str) -> Sender:
        """Return a sender with these settings, which `close` closes."""
        parsed = read(self.kind.Settings, self.layout_settings(settings, **overrides))
        assert list(self.kind.check(parsed)) == []
        sender = Sender(self.kind(parsed), self.printed)
        self._senders.append(sender)
        self.printed += [repr(parsed), repr(sender.target), sender.target.where]
        return sender

    def supported(self, wanted: Mapping[str, str]) -> Settings:
        """Return the server's settings, and the wanted ones that the kind supports."""
        settings = {key: value for key, value in wanted.items() if key in self.options}
        return {**self.server.settings(), **settings}

    def settings_at(self, host: str) -> Settings:
        """Return the server's settings with this host for its own."""
        settings = self.server.settings()
        for own in ("127.0.0.1", "localhost"):
            settings = {key: text.replace(own, host) for key, text in settings.items()}
        return settings

    def shorten_waits(self, patched: pytest.MonkeyPatch) -> None:
        """Wait two seconds for a server that is silent, also while connecting."""
        patched.setattr(self.kind, "timeout", 2.0)
        for name, module in [*sys.modules.items()]:
            if name.startswith("bucketcast.targets.") and hasattr(module, "CONNECT_SECONDS"):
                patched.setattr(module, "CONNECT_SECONDS", 2.0)

    def expected(self, event_: Event) -> bytes:
        """Return the body that MinIO writes, without the time that some formats add."""
        return minio.records(event_) if self.layout.format else minio.log(event_)

    def arrivals(self) -> list[Arrival]:
        return self.server.received()

    def paths(self) -> list[str]:
        return [path_of(arrival) for arrival in self.arrivals()]

    def close(self) -> None:
        for sender in self._senders:
            sender.close()

    def seen_secrets(self, logged: str) -> list[str]:
        """Return lines of errors, representations and logs that contain a secret."""
        keys = [line for line in self.server.tls.client_key.read_text().split("\n") if line]
        lines = "\n".join([*self.printed, logged]).split("\n")
        return [line for line in lines if any(part in line for part in (SECRET_MARK, *keys))]
