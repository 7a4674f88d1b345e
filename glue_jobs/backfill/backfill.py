"""Backfill: send a target the existing objects of a bucket, as events.

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
from bucketcast.limits import LISTING_DAYS
from bucketcast.settings.pipeline import Backfill
from glue_jobs import events, files, listing, outbox, progress
from glue_jobs.backfill.destination import destination, unknown
from glue_jobs.backfill.messages import Counts, Tally, at_once, messages
from glue_jobs.run import Run

_LISTED: Final = "listed.json"
_MAX_AGE: Final = LISTING_DAYS * 86_400  # seconds


class Listed(msgspec.Struct, kw_only=True):
    """What was listed and spooled; `taken` is Unix ms, `spool` the outbox's URL."""

    scope: dict[str, str]
    taken: int
    spool: str
    events: int
    objects: int
    matched: int
    notes: list[str]


def backfill(spark: SparkSession, settings: Backfill, run: Run) -> None:
    """Send the bucket's objects to the target as its rules require; the result says how many.

    Raises:
        BucketcastError: the source cannot be used; no rule of the target matches such events; the
            listing is too old, or would be before all is sent; the run's folder holds the backfill
            of something else; or SQS did not take everything.
    """
    listed = _earlier(settings, run) or _list(spark, settings, run)
    left = listed.events - outbox.sent(listed.spool)
    _check_age(listed.taken, left / settings.rate if settings.rate else 0.0)
    outbox.send(spark, listed.spool, rate=settings.rate, on_progress=run.sent)
    fields = ("objects", "matched", "events", "notes")
    run.ends({**listed.scope, **{name: getattr(listed, name) for name in fields}})


def _scope(settings: Backfill) -> dict[str, str]:
    """Return what identifies a backfill; a rerun may change other options, such as the rate."""
    return {name: getattr(settings, name) for name in ("bucket", "source", "prefix", "target")}


def _earlier(settings: Backfill, run: Run) -> Listed | None:
    """Return what an earlier attempt of this run listed, if there was one."""
    try:
        listed = msgspec.json.decode(files.read(run.path(_LISTED)), type=Listed)
    except files.MissingFileError:
        return None
    if listed.scope != _scope(settings):
        found = ", ".join(f"{name} {text!r}" for name, text in listed.scope.items())
        raise BucketcastError(f"{run.folder} holds the backfill of {found}: start one of its own")
    return listed


def _list(spark: SparkSession, settings: Backfill, run: Run) -> Listed:
    with progress.reported(spark, run, "listing"):
        return _written(spark, settings, run)


def _written(spark: SparkSession, settings: Backfill, run: Run) -> Listed:
    """List the bucket and spool the target's events."""
    to = destination(settings)
    found = listing.read(spark, settings.bucket, settings.source, prefix=settings.prefix)
    taken = events.unix_ms(found.taken)
    _check_age(taken, 0.0)
    tally = spark.sparkContext.accumulator(Counts(), Tally())
    # An unfinished attempt leaves its spool behind, unused.
    spool = run.path(f"outbox/{time.time_ns()}")
    rows = messages(events.objects(found.objects), to, taken, at_once(settings.rate), tally)
    spooled, counts = outbox.spool(rows, spool), tally.value
    listed = Listed(
        scope=_scope(settings),
        taken=taken,
        spool=spool,
        events=spooled,
        objects=counts.objects,
        matched=counts.matched,
        notes=[
            *unknown(to.rules),
            *_without_put_rule(counts.without_put_rule),
            *_late(settings, taken),
        ],
    )
    files.write(run.path(_LISTED), msgspec.json.encode(listed))
    return listed


def _check_age(taken: int, seconds: float) -> None:
    """Reject a listing whose events could arrive after mirrors dropped later tombstones."""
    age = time.time() - taken / 1000
    if age + seconds <= _MAX_AGE:
        return
    found = f"the listing is of {_text(taken)}"
    if age > _MAX_AGE:
        hint = "start a new run, from a newer report or with --source listing"
    else:
        found += f", and all is sent in {seconds / 86_400:.1f} days"
        hint = "raise --rate, or do it in several with --prefix"
    raise BucketcastError(
        f"{found}: a listing is good for {LISTING_DAYS} days, after which objects that were "
        f"removed since could come back; {hint}"
    )


def _without_put_rule(objects: int) -> Iterator[str]:
    if objects:
        yield (
            f"{objects} objects were left out: the rules want other events of them than Put or "
            "CompleteMultipartUpload, and how else an object came nobody knows any more"
        )


def _late(settings: Backfill, taken: int) -> Iterator[str]:
    if settings.source != "listing":
        yield (
            f"the objects are those of {_text(taken)}: what was removed after that, and before the "
            f"target had its rule, came back: bucketcast reconcile {settings.bucket} "
            f"--target {settings.target} --repair"
        )


def _text(taken: int) -> str:
    return f"{datetime.fromtimestamp(taken / 1000, UTC):%Y-%m-%d %H:%M} UTC"
