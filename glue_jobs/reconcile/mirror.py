"""The mirror to compare: found among the configured targets, opened by each worker.

Workers get references and resolve the secrets themselves, so that no plan, log or argument ever
holds one.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, NamedTuple, cast

from pyspark.sql import DataFrame, SparkSession

from bucketcast import targets
from bucketcast.destination import TargetArn
from bucketcast.errors import BucketcastError, ConfigErrors, NotAuthorized, did_you_mean
from bucketcast.settings.options import read
from bucketcast.targets.base import Mirror
from glue_jobs.columns import schema

_PARTITIONS_PER_READER: Final = 4
"""Several, so that a reader with slow partitions leaves the rest to others."""


class Row(NamedTuple):
    """A `bucketcast.mirror.rows.StoredRow` of one bucket, with the key instead of the path."""

    key: str
    sequencer: str
    time: str
    etag: str
    size: int
    version_id: str | None


ROWS: Final = schema(Row)


class MirrorConfig(NamedTuple):
    """A configured mirror; secrets in `settings` are references."""

    arn: str
    kind: str
    settings: Mapping[str, str]


def find(arn: str, configured: str) -> MirrorConfig:
    """Find the target among those configured, JSON as in `settings.pipeline.Reconcile.targets`.

    Raises:
        BucketcastError: it does not exist, or keeps no row per object.
    """
    try:
        wanted = TargetArn.parse(arn).plain
    except ValueError as error:
        raise BucketcastError(f"target: {error}") from None
    configs = {key: MirrorConfig(key, **table) for key, table in json.loads(configured).items()}
    mirrors = [config.arn for config in configs.values() if _format(config) == "namespace"]
    available = ", ".join(sorted(mirrors)) or "none: configure one with format = namespace"
    if wanted not in configs:
        near = did_you_mean(wanted, configs)
        raise BucketcastError(
            f"target: found {wanted}, which is not configured; {near}those that mirror a bucket "
            f"are {available}"
        )
    if wanted not in mirrors:
        format_ = _format(configs[wanted])
        description = f"in format = {format_}" if format_ else "of a kind that keeps no rows"
        raise BucketcastError(
            f"target: found {wanted}, {description}; allowed are targets in format = "
            f"namespace, which are {available}"
        )
    return configs[wanted]


def _format(config: MirrorConfig) -> str:
    kind = targets.load(config.kind)
    if not issubclass(kind, Mirror):
        return ""
    return str(_settings(config.kind, config.settings).format)


@contextmanager
def open_mirror(config: MirrorConfig) -> Iterator[Mirror]:
    """Open the target, which connects on its first call.

    Raises:
        NotAuthorized: a secret cannot be read, or is not a valid setting.
    """
    from bucketcast.aws import secrets

    try:
        settings = _settings(config.kind, secrets.resolve(config.settings))
    except ConfigErrors as invalid:
        # A value may come from a secret, so only keys and allowed values are reported.
        reasons = "; ".join(f"{error.key}: {error.allowed}" for error in invalid.errors)
        raise NotAuthorized(f"the settings or a secret in them: {reasons}") from None
    with cast("type[Mirror]", targets.load(config.kind))(settings) as target:
        yield target


def reader_count(spark: SparkSession, config: MirrorConfig) -> int:
    """Return the number of readers for the target: one per core, within its configured limit."""
    limit = getattr(_settings(config.kind, config.settings), "max_open_connections", 0)
    cores = spark.sparkContext.defaultParallelism
    return min(limit, cores) if limit else cores


def read_rows(spark: SparkSession, config: MirrorConfig, bucket: str, prefix: str) -> DataFrame:
    """Return the `ROWS` of a bucket, read lazily; a row may occur twice.

    Raises:
        DeliveryError: the target cannot be read.
    """
    readers = reader_count(spark, config)
    with open_mirror(config) as target:
        partitions = target.partitions(readers * _PARTITIONS_PER_READER)
    parts = [partitions[start::readers] for start in range(min(readers, len(partitions)))]
    tasks = spark.sparkContext.parallelize(parts, max(1, len(parts)))
    rows = tasks.mapPartitions(partial(_read_partitions, config, bucket, prefix))
    # `verifySchema` would check every row again.
    return spark.createDataFrame(rows, ROWS, verifySchema=False)


def _read_partitions(
    config: MirrorConfig, bucket: str, prefix: str, parts: Iterable[list[str]]
) -> Iterator[Row]:
    path = f"{bucket}/{prefix}"
    with open_mirror(config) as target:
        for partition in (partition for part in parts for partition in part):
            for row in target.stored_rows(partition, path):
                key = row.path.partition("/")[2]
                yield Row(key, row.sequencer, row.time, row.etag, row.size, row.version_id)


def _settings(kind: str, values: Mapping[str, str]) -> Any:
    return read(targets.load(kind).Settings, values)
