"""The target that is read: found among those configured, opened where it is asked.

What travels to the workers are references: each resolves the secrets for itself, so that no plan,
log or argument ever holds one.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, NamedTuple, cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

from bucketcast import targets
from bucketcast.arn import Arn
from bucketcast.errors import BucketcastError, ConfigErrors, NotAuthorized, did_you_mean
from bucketcast.options import read
from bucketcast.targets.base import Mirror

ROWS: Final = StructType(
    [
        StructField("key", StringType(), nullable=False),
        StructField("sequencer", StringType(), nullable=False),
        StructField("time", StringType(), nullable=False),
        StructField("etag", StringType(), nullable=False),
        StructField("size", LongType(), nullable=False),
        StructField("version_id", StringType()),
    ]
)
"""`bucketcast.held.Held` of one bucket, with the key in place of the path."""
_SHARES_A_READER: Final = 4
"""So that a reader with slow ones leaves the rest to others."""


class NoMirrorError(BucketcastError):
    """The target cannot be compared with a bucket; the text says which can."""


class Place(NamedTuple):
    """A mirror as it is configured; `settings` hold references where there are secrets."""

    arn: str
    kind: str
    settings: Mapping[str, str]


def find(arn: str, configured: str) -> Place:
    """The target among those configured, JSON as `bucketcast.jobs.Reconcile.targets` has it.

    Raises:
        NoMirrorError: it is not there, or keeps no row an object.
    """
    try:
        wanted = Arn.parse(arn).plain
    except ValueError as error:
        raise NoMirrorError(f"target: {error}") from None
    places = {each: Place(each, **about) for each, about in json.loads(configured).items()}
    mirrors = [each.arn for each in places.values() if _format(each) == "namespace"]
    there = ", ".join(sorted(mirrors)) or "none: configure one with format = namespace"
    if wanted not in places:
        near = did_you_mean(wanted, places)
        raise NoMirrorError(
            f"target: found {wanted}, which is not configured; {near}those that mirror a bucket "
            f"are {there}"
        )
    if wanted not in mirrors:
        format_ = _format(places[wanted])
        found = f"in format = {format_}" if format_ else "of a kind that keeps no rows"
        raise NoMirrorError(
            f"target: found {wanted}, {found}; allowed are targets in format = namespace, which "
            f"are {there}"
        )
    return places[wanted]


def _format(place: Place) -> str:
    kind = targets.load(place.kind)
    if not issubclass(kind, Mirror):
        return ""
    return str(_settings(place.kind, place.settings).format)


@contextmanager
def opened(place: Place) -> Iterator[Mirror]:
    """The target, connected when it is first asked.

    Raises:
        NotAuthorized: a secret cannot be read, or holds what is no setting.
    """
    from bucketcast.store import secrets

    try:
        settings = _settings(place.kind, secrets.resolve(place.settings))
    except ConfigErrors as wrong:
        # What was found may be what a secret holds, so only keys and rules are said.
        reasons = "; ".join(f"{error.key}: {error.allowed}" for error in wrong.errors)
        raise NotAuthorized(f"the settings or a secret in them: {reasons}") from None
    with cast("type[Mirror]", targets.load(place.kind))(settings) as target:
        yield target


def readers(spark: SparkSession, place: Place) -> int:
    """How many may ask the target at once: one a core, or as many as it is set to take."""
    most = getattr(_settings(place.kind, place.settings), "max_open_connections", 0)
    cores = spark.sparkContext.defaultParallelism
    return min(most, cores) if most else cores


def rows(spark: SparkSession, place: Place, bucket: str, prefix: str) -> DataFrame:
    """`ROWS` of a bucket, read when they are asked for; a row may be there twice.

    Raises:
        DeliveryError: the target cannot be asked.
    """
    many = readers(spark, place)
    with opened(place) as target:
        shares = target.shares(many * _SHARES_A_READER)
    parts = [shares[begin::many] for begin in range(min(many, len(shares)))]
    spread = spark.sparkContext.parallelize(parts, max(1, len(parts)))
    found = spread.mapPartitions(partial(_read, place, bucket, prefix))
    # `verifySchema` would look at every row again.
    return spark.createDataFrame(found, ROWS, verifySchema=False)


def _read(
    place: Place, bucket: str, prefix: str, parts: Iterable[list[str]]
) -> Iterator[tuple[Any, ...]]:
    within = f"{bucket}/{prefix}"
    with opened(place) as target:
        for share in (share for part in parts for share in part):
            for row in target.held(share, within):
                key = row.path.partition("/")[2]
                yield key, row.sequencer, row.time, row.etag, row.size, row.version_id


def _settings(kind: str, texts: Mapping[str, str]) -> Any:
    return read(targets.load(kind).Settings, texts)
