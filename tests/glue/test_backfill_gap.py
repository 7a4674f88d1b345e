"""Puts at all times: events, a backfill and what its notes name are everything, and no more."""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import product
from types import SimpleNamespace
from typing import Any, Final, NamedTuple
from unittest.mock import MagicMock, patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bucketcast.delivery.envelope import unpack
from bucketcast.errors import BucketcastError
from bucketcast.mirror.synthetic import Object
from bucketcast.rules import Rule
from bucketcast.settings.pipeline import Backfill, parse
from glue_jobs.backfill.backfill import _list
from glue_jobs.backfill.destination import Destination
from glue_jobs.backfill.selection import FILTERS
from glue_jobs.listing import metadata
from glue_jobs.listing.schema import Listing, unix_ms
from glue_jobs.outbox.chunks import Message

BUCKET, ARN = "uploads", "arn:minio:sqs::log:kafka"
RULE: Final = Rule(bucket=BUCKET, arn=ARN, events=("s3:ObjectCreated:*",))
HALF_HOUR: Final = timedelta(minutes=30)
BEGIN: Final = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(days=7)


class Put(NamedTuple):
    """An upload: all times are half hours, `late` is by how much a table or an event may be."""

    key: str
    began: int
    lasted: int
    late: int

    @property
    def ended(self) -> int:
        return self.began + self.lasted

    @property
    def modified(self) -> datetime:
        return BEGIN + self.began * HALF_HOUR


PUTS: Final = [
    Put(f"a b/{began}-{lasted}-{late}", began, lasted, late)
    for began, lasted, late in product(range(14), range(5), range(3))
] + [Put("again", began, 0, 0) for began in range(14)]


class World:
    """A bucket, a rule that is added to it, and a job whose every call takes some time."""

    def __init__(self, rule: int, source: int, start: int, call: int) -> None:
        self.rule, self.source, self.now, self.call = start + rule, start - source, start, call
        self.events = {put for put in PUTS if put.ended + put.late >= self.rule}
        self.sent: set[Put] = set()

    def find_destination(self, _: object) -> Destination:
        if self.rule > self.now:
            raise BucketcastError("there is no rule")
        self.now += self.call
        return Destination(ARN, "https://sqs/log", (RULE,))

    def read(self, _: object, __: str, source: str, *, prefix: str) -> Listing:
        taken, late = self.source, 0
        if source == "listing":
            taken, late = self.now, -self.call
            self.now += self.call
        elif source == "metadata":
            late = 1
        rows: Any = [
            put
            for put in PUTS
            if put.ended <= taken - late * put.late and put.key.startswith(prefix)
        ]
        at = BEGIN + taken * HALF_HOUR - (metadata.LAG if source == "metadata" else timedelta())
        return Listing(rows, versions=True, taken=at, name=source)

    def select(self, content: Any, options: Backfill) -> list[Object]:
        rows = content.objects
        if options.versions == "current":
            rows = {put.key: put for put in rows}.values()
        times = {name: getattr(options, name) for name in FILTERS if name.startswith("modified")}
        return [
            Object(BUCKET, put.key, str(PUTS.index(put)), modified=unix_ms(put.modified))
            for put in rows
            if all(not at or FILTERS[name][1](put.modified, at) for name, at in times.items())
        ]

    def spool(self, rows: list[Object], pack: Callable[..., Iterator[Message]], _: str) -> int:
        deliveries = [each for message in pack(rows) for each in unpack(message.body)]
        found = {PUTS[int(each.event.version_id or "")] for each in deliveries}
        self.sent |= found
        return len(found)

    def backfill(self, words: Iterable[str]) -> list[str]:
        """Run the job's listing; return its notes."""
        options = parse(Backfill, ["--run=r", "--queue=q", f"--bucket={BUCKET}", *words])
        spark, run = MagicMock(), MagicMock(path=str)
        spark.sparkContext.accumulator = lambda _: SimpleNamespace(value=0, add=lambda _: None)
        job = "glue_jobs.backfill.backfill"
        with (
            patch(f"{job}.find_destination", self.find_destination),
            patch(f"{job}.listing.read", self.read),
            patch(f"{job}.select", self.select),
            patch(f"{job}.chunks.spool", self.spool),
            patch(f"{job}.files.write"),
        ):
            return _list(spark, options, run).notes


@pytest.mark.parametrize("source", ["s3://inventories/uploads/daily", "metadata", "listing"])
@settings(max_examples=100, database=None, deadline=None)
@given(
    st.tuples(st.integers(-4, 3), st.integers(0, 6), st.integers(0, 9), st.integers(0, 4)),
    st.sampled_from(["", "a b/"]),
    st.sampled_from(["current", "all"]),
)
def test_nothing_is_missing(
    source: str, times: tuple[int, int, int, int], prefix: str, versions: str
) -> None:
    world = World(*times)
    words = ["--target", ARN, "--prefix", prefix, "--versions", versions]
    try:
        notes = world.backfill([*words, "--source", source])
    except BucketcastError:
        return  # the rule came too late, and the job said so
    for command in re.findall(rf"bucketcast backfill {BUCKET} (.*)", "\n".join(notes)):
        world.backfill(word.replace("-after", "_after") for word in shlex.split(command))
    assert source == "listing" or "bucketcast reconcile" in notes[0]
    meant = [put for put in PUTS if put.key.startswith(prefix)]
    if versions == "current":
        meant = list({put.key: put for put in meant}.values())
    assert set(meant) <= world.events | world.sent
    assert all(put.key.startswith(prefix) for put in world.sent)
