"""Recheck each difference: read the object itself, and the target's merged state of it.

A listing may be days old, and rows are read while events arrive. If both agree now, the event was
in flight. If one changed since the comparison began, it may still be: such keys are reported apart,
and not repaired.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec
from botocore.exceptions import ClientError
from pyspark.sql import DataFrame

from bucketcast.ingest.aws.head_object import object_of, tags_of
from bucketcast.mirror.rows import MergedState, StoredRow
from bucketcast.mirror.synthetic import (
    EPOCH,
    NOTHING_MORE,
    Object,
    created,
    removed,
)
from bucketcast.rules import Rule, RuleIndex
from bucketcast.rules.conditions import TAG
from glue_jobs import files
from glue_jobs.aws import client
from glue_jobs.columns import schema
from glue_jobs.listing.schema import unix_ms
from glue_jobs.reconcile import mirror
from glue_jobs.reconcile.compare import Drift, find_drift

CHANGING: Final = "changing"
UNCOVERED: Final = "uncovered"
_PATHS_PER_CALL: Final = 500
_THREADS: Final = 16
_NOT_FOUND: Final = {"404", "NoSuchKey", "MethodNotAllowed"}
"""The codes of HeadObject and GetObjectTagging for a key without an object, or a delete marker."""
_ENCRYPTED: Final = "400"
"""HeadObject's status for an object encrypted with a customer's key."""

_NO_ROW: Final = (None,) * 5


class Difference(NamedTuple):
    """A key that differs.

    `what` is a `compare.Drift`; or `changing`: changed since the comparison began; or `uncovered`:
    a row that no rule covers, so that no event would ever repair it. `rule` is the id
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


class State(NamedTuple):
    """The merged state of a key: its newest order, and its row; without one its fields are None."""

    key: str
    sequencer: str
    time: str
    row_sequencer: str | None
    row_time: str | None
    row_etag: str | None
    row_size: int | None
    row_version_id: str | None

    def merged(self, bucket: str) -> MergedState:
        """Return it as the target did."""
        row = None
        if self.row_time is not None:
            row = StoredRow(f"{bucket}/{self.key}", *self[3:])  # type: ignore[arg-type]  # of a row
        return MergedState(row, self.sequencer, self.time)


STATES: Final = schema(State)


class Found(NamedTuple):
    """An object as S3 has it now; `facts` are further fields of its event, as far as known."""

    object: Object
    facts: Mapping[str, Any] = NOTHING_MORE


class Context(NamedTuple):
    """The settings of a worker; `began` is Unix ms."""

    config: mirror.MirrorConfig
    bucket: str
    rules: tuple[Rule, ...]
    began: int

    @property
    def has_tag_conditions(self) -> bool:
        """True if a rule asks for tags."""
        return any(on.on.startswith(TAG) for rule in self.rules for on in rule.conditions)


def read_states(suspects: DataFrame, context: Context) -> DataFrame:
    """Return the `STATES` of the suspects' keys; the target limits the readers."""
    spark = suspects.sparkSession
    keys = suspects.repartition(mirror.reader_count(spark, context.config)).rdd
    states = keys.mapPartitions(partial(_read_states, context))
    return spark.createDataFrame(states, STATES, verifySchema=False)


def _read_states(context: Context, rows: Iterable[Sequence[str]]) -> Iterator[State]:
    keys = (key for (key,) in rows)
    with mirror.open_mirror(context.config) as target:
        while part := list(islice(keys, _PATHS_PER_CALL)):
            states = target.merged_states([f"{context.bucket}/{key}" for key in part])
            for key in part:
                merged = states.get(f"{context.bucket}/{key}", MergedState())
                row = msgspec.structs.astuple(merged.row)[1:] if merged.row else _NO_ROW
                yield State(key, merged.sequencer, merged.time, *row)


def recheck(states: DataFrame, context: Context) -> DataFrame:
    """Return the remaining `DIFFERENCES` of these `STATES`: all cores read the objects.

    The states are read before: what happens to an object later is newer than a repair.
    """
    spark = states.sparkSession
    rows = states.repartition(spark.sparkContext.defaultParallelism).rdd
    differences = rows.mapPartitions(partial(_recheck, context))
    return spark.createDataFrame(differences, DIFFERENCES, verifySchema=False)


def _recheck(context: Context, rows: Iterable[Sequence[Any]]) -> Iterator[Difference]:
    find_rule = rule_finder(context)
    states = (State(*row) for row in rows)
    with ThreadPoolExecutor(_THREADS) as pool:
        while part := list(islice(states, _PATHS_PER_CALL)):
            objects = pool.map(partial(read_object, context), (state.key for state in part))
            for state, found in zip(part, objects, strict=True):
                merged = state.merged(context.bucket)
                if different := difference(state.key, found, merged, context.began, find_rule):
                    yield different


def difference(
    key: str,
    found: Found | None,
    merged: MergedState,
    began: int,
    find_rule: Callable[[str, Found | None], str],
) -> Difference | None:
    """Return the difference of a key; None if object and row agree, or no rule asks for a row.

    `find_rule` returns the rule that an event of this object would match, "" for none.
    """
    current, row = found and found.object, merged.row
    kind: str | None = find_drift(current, row)
    rule = find_rule(key, found) if kind else ""
    if kind is None or (kind == Drift.MISSING and not rule):
        return None
    if not rule:
        kind = UNCOVERED
    elif _changed_at(current, row) >= began:
        kind = CHANGING
    fields = current or Object(key="", bucket="")
    return Difference(
        key=key,
        what=str(kind),
        rule=rule,
        version_id=fields.version_id,
        size=fields.size,
        etag=fields.etag,
        modified=fields.modified,
        storage_class=fields.storage_class,
        row_version_id=row.version_id if row else None,
        row_size=row.size if row else None,
        row_etag=row.etag if row else None,
        row_time=row.time if row else None,
        known_sequencer=merged.sequencer,
        known_time=merged.time,
    )


def rule_finder(context: Context) -> Callable[[str, Found | None], str]:
    """Return a function that finds the rule for the event of a key: its put, or its removal."""
    index = RuleIndex(context.rules)

    def find_rule(key: str, found: Found | None) -> str:
        if found:
            event = created(found.object, facts=found.facts)
        else:
            event = removed(Object(context.bucket, key), time=EPOCH)
        return next((hit.rule for hit in index.match(event)), "")

    return find_rule


def read_object(context: Context, key: str) -> Found | None:
    """Return the object as S3 has it now, with what the rules ask for; None if there is none.

    Raises:
        FileError: it cannot be read.
    """
    address = {"Bucket": context.bucket, "Key": key}
    tags: dict[str, Any] = {}
    with files.errors(f"s3://{context.bucket}/{key}"):
        try:
            # Before the head, whose time then shows that an object was replaced since.
            if context.has_tag_conditions:
                tags["tags"] = tags_of(client("s3").get_object_tagging(**address))
            response = client("s3").head_object(**address)
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code in _NOT_FOUND:
                return None
            if code != _ENCRYPTED and code not in files.DENIED:
                raise
            listed = _read_listed(context.bucket, key)
            return listed and Found(listed, tags)
    found, fields = object_of(context.bucket, key, response)
    return Found(found, fields | tags)


def _read_listed(bucket: str, key: str) -> Object | None:
    """Return the object from a listing, which needs no encryption key and no s3:GetObject."""
    response: Any = client("s3").list_objects_v2(Bucket=bucket, Prefix=key, MaxKeys=1)
    for entry in response.get("Contents", ()):
        if entry["Key"] == key:
            etag, at = entry["ETag"].strip('"'), unix_ms(entry["LastModified"])
            return Object(bucket, key, None, entry["Size"], etag, at, entry.get("StorageClass"))
    return None


def _changed_at(current: Object | None, row: StoredRow | None) -> int:
    """Return the time of the last change of object or row, in Unix ms."""
    return max((current.modified or 0) if current else 0, _parse_ms(row.time) if row else 0)


def _parse_ms(time: str) -> int:
    """Return the Unix ms of an event's time; 0 for none or an invalid date."""
    try:
        return unix_ms(datetime.fromisoformat(time)) if time else 0
    except ValueError:
        return 0
