"""Backfill: send a target the existing objects of a bucket as events.

The rules are read before the bucket is listed: later changes reach the target as real events, which
win over these in whichever order they arrive (`bucketcast.mirror.synthetic`). All events are
spooled before the first is sent, so that the same run can resume after an interruption.

`docs/adr/0024-backfilled-events-lose.md`
"""

import shlex
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain
from typing import Any, Final

import msgspec
from pyspark.sql import SparkSession

from bucketcast.errors import BucketcastError
from bucketcast.limits import LISTING_DAYS
from bucketcast.settings.pipeline import Backfill, arguments
from glue_jobs import files, lease, listing, not_sent
from glue_jobs.backfill import manifest
from glue_jobs.backfill.destination import fact_notes, find_destination, origin_notes
from glue_jobs.backfill.messages import events_per_message, pack_objects
from glue_jobs.backfill.selection import FILTERS, select
from glue_jobs.listing.schema import Listing, unix_ms
from glue_jobs.outbox import checkpoints, chunks, sender
from glue_jobs.outbox.pace import seconds_needed
from glue_jobs.run import Run

_LISTED: Final = "listed.json"
_MAX_AGE: Final = LISTING_DAYS * 86_400  # seconds
_LONGEST_UPLOAD: Final = timedelta(days=7)
"""Of uploads in parts, which S3 lists with the time when they began."""
_SPARE: Final = 60.0
_SPARE_SHARE: Final = 0.1
"""A run pauses so many seconds, or this part of its time, before Glue would end it."""


class Listed(msgspec.Struct, kw_only=True):
    """The listed and spooled objects; `taken` is Unix ms, `spool` the outbox's URL.

    `rules` are the ids of the target's rules, by which the events are spooled.
    """

    rules: list[str]
    taken: int
    spool: str
    events: int
    objects: int
    matched: int
    notes: list[str]


def backfill(spark: SparkSession, settings: Backfill, run: Run) -> None:
    """Send the bucket's objects to the target as its rules require; the result has the counts.

    A dry run ends before the first event, with an estimate instead; the same run then sends them.

    Raises:
        BucketcastError: the source cannot be used; no rule of the target matches such events; the
            listing is too old, or would be before all is sent; the run's folder has events
            by rules that were removed since, or is being worked on; or the queue does not answer.
    """
    began = time.time()
    with lease.hold(run.folder, settings.table, run.folder, "sends its events"):
        listed = _read_earlier(settings, run) or _list(spark, settings, run)
        sent = None if settings.dry_run else _send(spark, listed, settings, run, began)
        refused = not_sent.count_reasons(run.path(sender.REFUSED))
    outcome: dict[str, Any] = {"sent": sent, "paused": False}
    if sent is None:
        outcome = {"estimate": {"seconds": _estimate(spark, listed.events, settings)}}
    elif sent + refused.total() < listed.events:
        # Nobody refused the rest: the run was about to be ended by Glue.
        _check_age(listed.taken, 0.0)
        outcome["paused"] = True
    fields = ("objects", "matched", "events", "notes")
    counts = {name: getattr(listed, name) for name in fields}
    reasons = refused + not_sent.count_reasons(run.path("not-sent/objects"))
    left = not_sent.summarize(reasons, run.path("not-sent"))
    run.set_result({**_scope(settings), **counts, **outcome, **left})


def _estimate(spark: SparkSession, events: int, settings: Backfill) -> int:
    """Return the seconds that sending takes; without a rate, with all present cores at best."""
    fastest = sender.count_tasks(spark, settings.rate) * sender.TASK_RATE
    return round(seconds_needed(events, settings.rate, settings.queue) or events / fastest)


def _send(spark: SparkSession, listed: Listed, settings: Backfill, run: Run, began: float) -> int:
    """Send what is not sent yet, until Glue is about to end the run; return how many SQS has."""
    unsent = listed.events - checkpoints.count_events(listed.spool)
    needed = seconds_needed(unsent, settings.rate, settings.queue)
    _check_age(listed.taken, needed)
    until = listed.taken / 1000 + _MAX_AGE
    if settings.timeout:
        until = min(until, began + settings.timeout - min(_SPARE, settings.timeout * _SPARE_SHARE))
    stage = f"sending for {needed / 3600:.2f} hours" if needed else "sending"
    report: Any = partial(run.report, stage, unit="events")
    with suppress(sender.RefusedError):  # the result lists what was refused
        sender.send(
            spark,
            listed.spool,
            settings.queue,
            listed.events,
            rate=settings.rate,
            run=run.folder,
            until=until,
            on_progress=report,
        )
    return checkpoints.count_events(listed.spool)


def _scope(settings: Backfill) -> dict[str, str]:
    """Return the options that say what is sent."""
    names = ("bucket", "source", "prefix", "manifest", "versions", "target")
    scope = {name: getattr(settings, name) for name in names}
    filters = {name: getattr(settings, name) for name in FILTERS}
    return scope | {
        name: ",".join(value) if isinstance(value, tuple) else str(value)
        for name, value in filters.items()
        if value not in (None, ())
    }


def _read_earlier(settings: Backfill, run: Run) -> Listed | None:
    """Return the listing of an earlier attempt of this run, if there was one."""
    try:
        listed = msgspec.json.decode(files.read(run.path(_LISTED)), type=Listed)
    except files.MissingFileError:
        return None
    if removed := set(listed.rules) - {rule.id for rule in find_destination(settings).rules}:
        raise BucketcastError(
            f"{run.folder} has events by {len(removed)} rules of {settings.target} that were "
            "removed since: start a new run"
        )
    return listed


def _list(spark: SparkSession, settings: Backfill, run: Run) -> Listed:
    """List the bucket, and spool the target's events."""
    to = find_destination(settings)
    with run.report_tasks(spark, "listing"):
        content = _read_content(spark, settings, run)
        taken = unix_ms(content.taken)
        _check_age(taken, 0.0)
        objects, matched = (spark.sparkContext.accumulator(0) for _ in range(2))
        # An unfinished attempt leaves its spool behind, unused.
        spool = run.path(f"outbox/{time.time_ns()}")
        rows = select(content, settings)
        limit = events_per_message(settings.rate)
        pack = partial(pack_objects, to, taken, limit, objects, matched)
        events = chunks.spool(rows, pack, spool)
    listed = Listed(
        rules=[rule.id for rule in to.rules],
        taken=taken,
        spool=spool,
        events=events,
        objects=objects.value,
        matched=matched.value,
        notes=[
            *content.notes,
            *content.filter_notes,
            *fact_notes(to.rules),
            *origin_notes(to.rules),
            *_lateness_notes(settings, content.taken),
        ],
    )
    files.write(run.path(_LISTED), msgspec.json.encode(listed))
    return listed


def _read_content(spark: SparkSession, settings: Backfill, run: Run) -> Listing:
    if settings.manifest:
        return manifest.read(spark, settings, run.path("not-sent/objects"))
    return listing.read(spark, settings.bucket, settings.source, prefix=settings.prefix)


def _check_age(taken: int, seconds: float) -> None:
    """Reject a listing whose events could arrive after mirrors dropped later tombstones."""
    age = time.time() - taken / 1000
    if age + seconds <= _MAX_AGE:
        return
    message = f"the listing is of {datetime.fromtimestamp(taken / 1000, UTC):%Y-%m-%d %H:%M} UTC"
    if age > _MAX_AGE:
        hint = "start a new run, from a newer report or with --source listing"
    else:
        message += f", and all events are sent in {seconds / 86_400:.1f} days"
        hint = "raise --rate, or start several runs with --prefix"
    raise BucketcastError(
        f"{message}: that is good for {LISTING_DAYS} days, after which objects that were "
        f"removed since could come back; {hint}"
    )


def _lateness_notes(settings: Backfill, taken: datetime) -> Iterator[str]:
    if settings.source == "listing":
        return
    of = shlex.join(["--target", settings.target, *_words(prefix=settings.prefix)])
    yield (
        f"the objects are those of {taken:%Y-%m-%d %H:%M} UTC; objects removed after that, before "
        "the target had its rule, came back; for a mirror run: "
        f"bucketcast reconcile {settings.bucket} {of} --repair"
    )
    since = max(filter(None, (taken - _LONGEST_UPLOAD, settings.modified_after)))
    if settings.modified_before is None or since < settings.modified_before:
        late = f"{since:%Y-%m-%dT%H:%MZ}"
        scope = _scope(settings) | {"bucket": "", "source": "", "modified_after": late}
        options = shlex.join(_words(**scope, rate=str(settings.rate)))
        yield (
            "objects put in that time are missing (an upload in parts has the time of its start, "
            "so this begins a week before; take an earlier --modified-after for a longer one): "
            f"bucketcast backfill {settings.bucket} {options}"
        )


def _words(**options: str) -> list[str]:
    """Return options of a command, without empty ones."""
    named = {name.replace("_", "-"): value for name, value in options.items()}
    return [*chain.from_iterable(arguments(named).items())]
