"""The schema of a listing's rows, whichever source they came from."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql.types import (
    BooleanType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

LISTING: Final = StructType(
    [
        StructField("bucket", StringType(), nullable=False),
        StructField("key", StringType(), nullable=False),
        StructField("version_id", StringType()),
        StructField("is_latest", BooleanType(), nullable=False),
        StructField("is_delete_marker", BooleanType(), nullable=False),
        StructField("size", LongType()),
        StructField("last_modified", TimestampType()),
        StructField("etag", StringType()),
        StructField("storage_class", StringType()),
    ]
)
"""A row per version, or per object where the source lists no versions.

`key` is decoded. `version_id` is None where the source names none, and "null" for S3's own version
of that name; such rows are the latest. `size` is in bytes, 0 for a delete marker and None where
the source does not say; `etag` has no quotation marks; `storage_class` is as S3 calls it.
"""


def shaped(frame: DataFrame, columns: Mapping[str, Column]) -> DataFrame:
    """Select rows of `LISTING` from a source's; `columns` has an expression for each."""
    return frame.select(
        *(columns[field.name].cast(field.dataType).alias(field.name) for field in LISTING)
    )


@dataclass(frozen=True, slots=True)
class Listing:
    """A bucket's content as a source has it.

    `objects` are rows of `LISTING`, with all versions if `versions`; `taken` is their time: later
    changes may be missing. `name` describes the source, and `sizes` is whether it has sizes.
    """

    objects: DataFrame
    versions: bool
    taken: datetime
    name: str
    sizes: bool = True
