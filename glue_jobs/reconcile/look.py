"""A second look at what differs: at the object itself, and at all that the target knows of it.

A listing may be days old, and rows are read while events arrive. What agrees by now was under way.
What changed since the comparison began still is: it is told apart, and not mended.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError
from pyspark.sql import DataFrame
from pyspark.sql.types import LongType, StringType, StructField, StructType

from bucketcast.errors import BucketcastError
from bucketcast.event import Event
from bucketcast.held import Held, Known
from bucketcast.rules import Rule, RuleIndex
from glue_jobs import events
from glue_jobs.aws import client
from glue_jobs.events import Object
from glue_jobs.reconcile import compare, mirror
from glue_jobs.reconcile.compare import What

CHANGING: Final = "changing"
UNCOVERED: Final = "uncovered"
DIFFERENCES: Final = StructType(
    [
        StructField("key", StringType(), nullable=False),
        StructField("what", StringType(), nullable=False),
        StructField("rule", StringType(), nullable=False),
        StructField("version_id", StringType()),
        StructField("size", LongType()),
        StructField("etag", StringType()),
        StructField("modified", LongType()),
        StructField("storage_class", StringType()),
        StructField("row_version_id", StringType()),
        StructField("row_size", LongType()),
        StructField("row_etag", StringType()),
        StructField("row_time", StringType()),
        StructField("known_sequencer", StringType(), nullable=False),
        StructField("known_time", StringType(), nullable=False),
    ]
)
"""A row a key that differs.

`what` is one of `compare.What`, or `changing`: changed since the comparison began; or `uncovered`:
a row that no rule speaks of, so that no event would ever mend it. `rule` is the id of the rule by
which the event goes that mends it. The object's columns are null where there is none, the row's
where it has none; `modified` is Unix ms. The newest that the target knows is `known_…`.
"""
_PATHS_A_LOOK: Final = 500
_THREADS: Final = 16
_GONE: Final = "404"
_REFUSED: Final = {"403", "AccessDenied"}
_ENCRYPTED: Final = "400"
"""What HeadObject answers of an object under a key of the customer's."""


class UnseenError(BucketcastError):
    """An object cannot be looked at; the text names it."""


class Difference(NamedTuple):
    """A row of `DIFFERENCES`."""

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


class Looker(NamedTuple):
    """What a worker needs for it; `began` is Unix ms."""

    place: mirror.Place
    bucket: str
    rules: tuple[Rule, ...]
    began: int


def again(suspects: DataFrame, looker: Looker) -> DataFrame:
    """`DIFFERENCES` that are left of keys, the column `key`."""
    spark = suspects.sparkSession
    many = mirror.readers(spark, looker.place)
    keys = suspects.select("key").repartition(many).rdd
    found = keys.mapPartitions(partial(_look, looker))
    return spark.createDataFrame(found, DIFFERENCES, verifySchema=False)


def _look(looker: Looker, rows: Iterable[Sequence[str]]) -> Iterator[Difference]:
    covers = _covers(looker)
    heads = partial(head, looker.bucket)
    keys = (key for (key,) in rows)
    with mirror.opened(looker.place) as target, ThreadPoolExecutor(_THREADS) as pool:
        while part := list(islice(keys, _PATHS_A_LOOK)):
            known = target.known([f"{looker.bucket}/{key}" for key in part])
            for key, found in zip(part, pool.map(heads, part), strict=True):
                about = known.get(f"{looker.bucket}/{key}", Known())
                difference = told(key, found, about, looker.began, covers)
                if difference:
                    yield difference


def told(
    key: str,
    found: Object | None,
    known: Known,
    began: int,
    covers: Callable[[str, Object | None], str],
) -> Difference | None:
    """What is to be told of a key; None where object and row agree, or no rule asks for a row.

    `covers` names the rule by which the event goes that says this of the object, "" for none.
    """
    row = known.held
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
        known_sequencer=known.sequencer,
        known_time=known.time,
    )


def _covers(looker: Looker) -> Callable[[str, Object | None], str]:
    index = RuleIndex(looker.rules)

    def covers(key: str, found: Object | None) -> str:
        event: Event = events.created(found) if found else _removal(looker.bucket, key)
        return next((hit.rule for hit in index.match(event)), "")

    return covers


def _removal(bucket: str, key: str) -> Event:
    return events.removed(bucket, key, sequencer=events.OLDEST, time=events.EPOCH)


def head(bucket: str, key: str) -> Object | None:
    """The object as S3 has it now; None where there is none.

    Raises:
        UnseenError: it cannot be asked.
    """
    try:
        found = client("s3").head_object(Bucket=bucket, Key=key)
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code == _GONE:
            return None
        if code == _ENCRYPTED:
            return _listed(bucket, key)
        raise UnseenError(_why(bucket, key, code, error)) from None
    except BotoCoreError as error:
        raise UnseenError(f"s3://{bucket}/{key} cannot be looked at: {error}") from None
    return Object(
        bucket,
        key,
        found.get("VersionId"),
        found["ContentLength"],
        found["ETag"].strip('"'),
        _unix_ms(found["LastModified"]),
        found.get("StorageClass"),
    )


def _listed(bucket: str, key: str) -> Object | None:
    """The object from a listing, which asks for no key: the first that begins as it does."""
    answer: Any = client("s3").list_objects_v2(Bucket=bucket, Prefix=key, MaxKeys=1)
    for each in answer.get("Contents", ()):
        if each["Key"] == key:
            etag, at = each["ETag"].strip('"'), _unix_ms(each["LastModified"])
            return Object(bucket, key, None, each["Size"], etag, at, each.get("StorageClass"))
    return None


def _why(bucket: str, key: str, code: str, error: ClientError) -> str:
    cure = f"; grant the job's role s3:GetObject and s3:ListBucket on {bucket}"
    return f"s3://{bucket}/{key} cannot be looked at: {error}{cure if code in _REFUSED else ''}"


def _unix_ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def _newest(found: Object | None, row: Held | None) -> int:
    """When object or row changed last, Unix ms."""
    return max((found.modified or 0) if found else 0, _millis(row.time) if row else 0)


def _millis(time: str) -> int:
    """Unix ms of an event's time; 0 for none, and for a date that there is not."""
    try:
        return _unix_ms(datetime.fromisoformat(time)) if time else 0
    except ValueError:
        return 0
