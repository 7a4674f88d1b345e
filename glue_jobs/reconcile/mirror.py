"""The mirror to compare, deployed or dynamic: opened by each worker.

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
from bucketcast.errors import ConfigErrors, NotAuthorized
from bucketcast.settings.options import read
from bucketcast.targets.base.mirror import Mirror
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
    """A mirror; secrets in `settings` are references."""

    arn: str
    kind: str
    settings: Mapping[str, str]


def parse(arn: str, text: str) -> MirrorConfig:
    """Return the mirror with this ARN; `text` is JSON as in `settings.pipeline.Reconcile.mirror`.

    The command that started the job has checked that it is one.
    """
    document = json.loads(text)
    return MirrorConfig(arn, document["kind"], document["settings"])


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
