"""Backfill: a target gets the objects that the bucket already held, as events.

The rules are read before the bucket is listed: what happens after that reaches the target as real
events, which win over these in whichever order they arrive (`glue_jobs.events`). What was listed
is written down first, so that the same run goes on after an interruption.

`docs/adr/0024-backfilled-events-lose.md`
"""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import msgspec
from pyspark.sql import SparkSession

from bucketcast.errors import BucketcastError
from bucketcast.jobs import Backfill
from bucketcast.lifetime import LISTING_DAYS
from glue_jobs import events, files, listing, outbox, progress
from glue_jobs.backfill.messages import Counts, Tally, at_once, messages
from glue_jobs.backfill.receiver import receiver, unknown
from glue_jobs.run import Run

_LISTED: Final = "listed.json"
_GOOD_FOR: Final = LISTING_DAYS * 86_400  # seconds


class TooOldError(BucketcastError):
    """An object that is gone, and whose removal a mirror has forgotten, could come back."""


class OtherRunError(BucketcastError):
    """The run's folder holds another backfill."""


class Listed(msgspec.Struct, kw_only=True):
    """What was listed, and waits in the outbox; `taken` is Unix ms, `spool` the outbox's URL."""

    asked: dict[str, str]
    taken: int
    spool: str
    events: int
    objects: int
    matched: int
    notes: list[str]


def backfill(spark: SparkSession, given: Backfill, run: Run) -> None:
    """Send the bucket's objects to the target, as its rules want them; the result says how many.

    Raises:
        BadListingError: the source cannot be used.
        NoRuleError: no rule of the target takes such events.
        TooOldError: the listing is too old, or would be before all is sent.
        OtherRunError: the run's folder holds the backfill of something else.
        OutboxError: SQS did not take everything.
    """
    listed = _kept(given, run) or _list(spark, given, run)
    left = listed.events - outbox.sent(listed.spool)
    _see_in_time(listed.taken, left / given.rate if given.rate else 0.0)
    outbox.send(spark, listed.spool, rate=given.rate, says=run.sends)
    told = ("objects", "matched", "events", "notes")
    run.ends({**listed.asked, **{name: getattr(listed, name) for name in told}})


def _asked(given: Backfill) -> dict[str, str]:
    """What makes it this backfill and no other; the rate, for one, may change on the way."""
    return {name: getattr(given, name) for name in ("bucket", "source", "prefix", "target")}


def _kept(given: Backfill, run: Run) -> Listed | None:
    """What an earlier attempt of this run listed."""
    try:
        listed = msgspec.json.decode(files.read(run.path(_LISTED)), type=Listed)
    except files.MissingFileError:
        return None
    if listed.asked != _asked(given):
        found = ", ".join(f"{name} {text!r}" for name, text in listed.asked.items())
        raise OtherRunError(f"{run.folder} holds the backfill of {found}: start one of its own")
    return listed


def _list(spark: SparkSession, given: Backfill, run: Run) -> Listed:
    with progress.told(spark, run, "listing"):
        return _written(spark, given, run)


def _written(spark: SparkSession, given: Backfill, run: Run) -> Listed:
    """What the target is to get, written down."""
    to = receiver(given)
    found = listing.read(spark, given.bucket, given.source, prefix=given.prefix)
    taken = round(found.taken.timestamp() * 1000)
    _see_in_time(taken, 0.0)
    tally = spark.sparkContext.accumulator(Counts(), Tally())
    # An attempt that did not come to its end leaves its spool behind, which nobody uses.
    spool = run.path(f"outbox/{time.time_ns()}")
    rows = messages(events.objects(found.objects), to, taken, at_once(given.rate), tally)
    spooled, counts = outbox.spool(rows, spool), tally.value
    listed = Listed(
        asked=_asked(given),
        taken=taken,
        spool=spool,
        events=spooled,
        objects=counts.objects,
        matched=counts.matched,
        notes=[*unknown(to.rules), *_unasked(counts.unasked), *_late(given, taken)],
    )
    files.write(run.path(_LISTED), msgspec.json.encode(listed))
    return listed


def _see_in_time(taken: int, seconds: float) -> None:
    """Refuse what could arrive after a mirror forgot the removals that followed the listing."""
    age = time.time() - taken / 1000
    if age + seconds <= _GOOD_FOR:
        return
    found = f"the listing is of {_text(taken)}"
    if age > _GOOD_FOR:
        cure = "start a new run, from a newer report or with --source listing"
    else:
        found += f", and all is sent in {seconds / 86_400:.1f} days"
        cure = "raise --rate, or do it in several with --prefix"
    raise TooOldError(
        f"{found}: a listing is good for {LISTING_DAYS} days, after which objects that were "
        f"removed since could come back; {cure}"
    )


def _unasked(objects: int) -> Iterator[str]:
    if objects:
        yield (
            f"{objects} objects were left out: the rules want other events of them than Put or "
            "CompleteMultipartUpload, and how else an object came nobody knows any more"
        )


def _late(given: Backfill, taken: int) -> Iterator[str]:
    if given.source != "listing":
        yield (
            f"the objects are those of {_text(taken)}: what was removed after that, and before the "
            f"target had its rule, came back: bucketcast reconcile {given.bucket} "
            f"--target {given.target} --repair"
        )


def _text(taken: int) -> str:
    return f"{datetime.fromtimestamp(taken / 1000, UTC):%Y-%m-%d %H:%M} UTC"
