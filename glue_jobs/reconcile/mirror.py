"""The mirror to compare: found among the configured targets, opened by each worker.

Workers are sent references, and each resolves the secrets for itself, so that no plan, log or
argument ever holds one.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, NamedTuple, cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

from bucketcast import targets
from bucketcast.destination import TargetArn
from bucketcast.errors import BucketcastError, ConfigErrors, NotAuthorized, did_you_mean
from bucketcast.settings.options import read
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
"""`bucketcast.mirror.rows.StoredRow` of one bucket, with the key instead of the path."""
_PARTITIONS_A_READER: Final = 4
"""Several, so that a reader with slow partitions leaves the rest to others."""


class MirrorConfig(NamedTuple):
    """A configured mirror; secrets in `settings` are references."""

    arn: str
    kind: str
    settings: Mapping[str, str]


def find(arn: str, configured: str) -> MirrorConfig:
    """Find the target among those configured, JSON as in `settings.jobs.Reconcile.targets`.

    Raises:
        BucketcastError: it does not exist, or keeps no row per object.
    """
    try:
        wanted = TargetArn.parse(arn).plain
    except ValueError as error:
        raise BucketcastError(f"target: {error}") from None
    configs = {each: MirrorConfig(each, **about) for each, about in json.loads(configured).items()}
    mirrors = [each.arn for each in configs.values() if _format(each) == "namespace"]
    available = ", ".join(sorted(mirrors)) or "none: configure one with format = namespace"
    if wanted not in configs:
        near = did_you_mean(wanted, configs)
        raise BucketcastError(
            f"target: found {wanted}, which is not configured; {near}those that mirror a bucket "
            f"are {available}"
        )
    if wanted not in mirrors:
        format_ = _format(configs[wanted])
        found = f"in format = {format_}" if format_ else "of a kind that keeps no rows"
        raise BucketcastError(
            f"target: found {wanted}, {found}; allowed are targets in format = namespace, which "
            f"are {available}"
        )
    return configs[wanted]


def _format(config: MirrorConfig) -> str:
    kind = targets.load(config.kind)
    if not issubclass(kind, Mirror):
        return ""
    return str(_settings(config.kind, config.settings).format)


@contextmanager
def opened(config: MirrorConfig) -> Iterator[Mirror]:
    """Open the target, which connects on its first call.

    Raises:
        NotAuthorized: a secret cannot be read, or is no valid setting.
    """
    from bucketcast.aws import secrets

    try:
        settings = _settings(config.kind, secrets.resolve(config.settings))
    except ConfigErrors as wrong:
        # A found value may come from a secret, so only keys and allowed values are reported.
        reasons = "; ".join(f"{error.key}: {error.allowed}" for error in wrong.errors)
        raise NotAuthorized(f"the settings or a secret in them: {reasons}") from None
    with cast("type[Mirror]", targets.load(config.kind))(settings) as target:
        yield target


def readers(spark: SparkSession, config: MirrorConfig) -> int:
    """Return how many readers the target may have: one per core, within its configured limit."""
    most = getattr(_settings(config.kind, config.settings), "max_open_connections", 0)
    cores = spark.sparkContext.defaultParallelism
    return min(most, cores) if most else cores


def rows(spark: SparkSession, config: MirrorConfig, bucket: str, prefix: str) -> DataFrame:
    """Return the `ROWS` of a bucket, read lazily; a row may be there twice.

    Raises:
        DeliveryError: the target cannot be read.
    """
    many = readers(spark, config)
    with opened(config) as target:
        partitions = target.partitions(many * _PARTITIONS_A_READER)
    parts = [partitions[begin::many] for begin in range(min(many, len(partitions)))]
    spread = spark.sparkContext.parallelize(parts, max(1, len(parts)))
    found = spread.mapPartitions(partial(_read, config, bucket, prefix))
    # `verifySchema` would look at every row again.
    return spark.createDataFrame(found, ROWS, verifySchema=False)


def _read(
    config: MirrorConfig, bucket: str, prefix: str, parts: Iterable[list[str]]
) -> Iterator[tuple[Any, ...]]:
    within = f"{bucket}/{prefix}"
    with opened(config) as target:
        for partition in (partition for part in parts for partition in part):
            for row in target.stored_rows(partition, within):
                key = row.path.partition("/")[2]
                yield key, row.sequencer, row.time, row.etag, row.size, row.version_id


def _settings(kind: str, texts: Mapping[str, str]) -> Any:
    return read(targets.load(kind).Settings, texts)
