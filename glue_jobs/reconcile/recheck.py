"""Recheck what differs: read the object itself, and the target's merged state of it.

A listing may be days old, and rows are read while events arrive. What agrees by now was in flight.
What changed since the comparison began may still be: it is reported apart, and not repaired.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError
from pyspark.sql import DataFrame

from bucketcast.errors import BucketcastError
from bucketcast.event import Event
from bucketcast.mirror.rows import MergedState, StoredRow
from bucketcast.rules import Rule, RuleIndex
from glue_jobs import events
from glue_jobs.aws import client
from glue_jobs.columns import schema
from glue_jobs.events import Object, unix_ms
from glue_jobs.reconcile import compare, mirror
from glue_jobs.reconcile.compare import What

CHANGING: Final = "changing"
UNCOVERED: Final = "uncovered"
_PATHS_A_LOOK: Final = 500
_THREADS: Final = 16
_GONE: Final = "404"
_REFUSED: Final = {"403", "AccessDenied"}
_ENCRYPTED: Final = "400"
"""HeadObject's status for an object encrypted with a customer's key."""


class Difference(NamedTuple):
    """A key that differs.

    `what` is one of `compare.What`, or `changing`: changed since the comparison began; or
    `uncovered`: a row that no rule covers, so that no event would ever repair it. `rule` is the id
    of the rule that the repairing event matches. The object's fields are None where there is none,
    the row's where it has none; `modified` is Unix ms. `known_…` is the newest order key of the
    target's merged state.
    """

    key: str
    what: str
    rule: str = ""
    version_id: str | None = None
    size: int | None = None
    etag: str | None = None
    modified: int | None = None
    storage_class: str | None = None
    row_version_id: str | None = None
    row_size: int | None = None
    row_etag: str | None = None
    row_time: str | None = None
    known_sequencer: str = ""
    known_time: str = ""


DIFFERENCES: Final = schema(Difference)


class Context(NamedTuple):
    """What a worker needs to recheck; `began` is Unix ms."""

    config: mirror.MirrorConfig
    bucket: str
    rules: tuple[Rule, ...]
    began: int


def again(suspects: DataFrame, context: Context) -> DataFrame:
    """Return the remaining `DIFFERENCES` of the suspects' column `key`."""
    spark = suspects.sparkSession
    many = mirror.readers(spark, context.config)
    keys = suspects.select("key").repartition(many).rdd
    found = keys.mapPartitions(partial(_recheck, context))
    return spark.createDataFrame(found, DIFFERENCES, verifySchema=False)


def _recheck(context: Context, rows: Iterable[Sequence[str]]) -> Iterator[Difference]:
    covers = _covers(context)
    heads = partial(head, context.bucket)
    keys = (key for (key,) in rows)
    with mirror.opened(context.config) as target, ThreadPoolExecutor(_THREADS) as pool:
        while part := list(islice(keys, _PATHS_A_LOOK)):
            states = target.merged_states([f"{context.bucket}/{key}" for key in part])
            for key, found in zip(part, pool.map(heads, part), strict=True):
                about = states.get(f"{context.bucket}/{key}", MergedState())
                left = difference(key, found, about, context.began, covers)
                if left:
                    yield left


def difference(
    key: str,
    found: Object | None,
    merged: MergedState,
    began: int,
    covers: Callable[[str, Object | None], str],
) -> Difference | None:
    """Return how a key differs; None where object and row agree, or no rule asks for a row.

    `covers` returns the rule that an event of this object would match, "" for none.
    """
    row = merged.row
    what: str | None = compare.of(found, row)
    rule = covers(key, found) if what else ""
    if what is None or (what == What.MISSING and not rule):
        return None
    if not rule:
        what = UNCOVERED
    elif _newest(found, row) >= began:
        what = CHANGING
    seen = found or Object(key="", bucket="")
    return Difference(
        key=key,
        what=str(what),
        rule=rule,
        version_id=seen.version_id,
        size=seen.size,
        etag=seen.etag,
        modified=seen.modified,
        storage_class=seen.storage_class,
        row_version_id=row.version_id if row else None,
        row_size=row.size if row else None,
        row_etag=row.etag if row else None,
        row_time=row.time if row else None,
        known_sequencer=merged.sequencer,
        known_time=merged.time,
    )


def _covers(context: Context) -> Callable[[str, Object | None], str]:
    index = RuleIndex(context.rules)

    def covers(key: str, found: Object | None) -> str:
        event: Event = events.created(found) if found else _removal(context.bucket, key)
        return next((hit.rule for hit in index.match(event)), "")

    return covers


def _removal(bucket: str, key: str) -> Event:
    return events.removed(bucket, key, sequencer=events.OLDEST, time=events.EPOCH)


def head(bucket: str, key: str) -> Object | None:
    """Return the object as S3 has it now; None if there is none.

    Raises:
        BucketcastError: it cannot be read.
    """
    try:
        found = client("s3").head_object(Bucket=bucket, Key=key)
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code == _GONE:
            return None
        if code == _ENCRYPTED:
            return _listed(bucket, key)
        raise BucketcastError(_why(bucket, key, code, error)) from None
    except BotoCoreError as error:
        raise BucketcastError(f"s3://{bucket}/{key} cannot be looked at: {error}") from None
    return Object(
        bucket,
        key,
        found.get("VersionId"),
        found["ContentLength"],
        found["ETag"].strip('"'),
        unix_ms(found["LastModified"]),
        found.get("StorageClass"),
    )


def _listed(bucket: str, key: str) -> Object | None:
    """Return the object from a listing, which needs no encryption key."""
    answer: Any = client("s3").list_objects_v2(Bucket=bucket, Prefix=key, MaxKeys=1)
    for each in answer.get("Contents", ()):
        if each["Key"] == key:
            etag, at = each["ETag"].strip('"'), unix_ms(each["LastModified"])
            return Object(bucket, key, None, each["Size"], etag, at, each.get("StorageClass"))
    return None


def _why(bucket: str, key: str, code: str, error: ClientError) -> str:
    hint = f"; grant the job's role s3:GetObject and s3:ListBucket on {bucket}"
    return f"s3://{bucket}/{key} cannot be looked at: {error}{hint if code in _REFUSED else ''}"


def _newest(found: Object | None, row: StoredRow | None) -> int:
    """Return when object or row last changed, in Unix ms."""
    return max((found.modified or 0) if found else 0, _millis(row.time) if row else 0)


def _millis(time: str) -> int:
    """Return the Unix ms of an event's time; 0 for none or an invalid date."""
    try:
        return unix_ms(datetime.fromisoformat(time)) if time else 0
    except ValueError:
        return 0
