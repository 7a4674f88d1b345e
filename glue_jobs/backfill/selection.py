"""The objects of a listing that the options of a backfill select."""

from collections.abc import Callable, Mapping
from operator import ge, le, lt
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from bucketcast.errors import BucketcastError
from bucketcast.settings.pipeline import Backfill
from glue_jobs.listing.schema import Listing, all_versions, current_objects


def _is_one_of(column: Column, values: tuple[str, ...]) -> Column:
    return column.isin(*values)


FILTERS: Final[Mapping[str, tuple[str, Callable[[Column, Any], Column]]]] = {
    "modified_after": ("last_modified", ge),
    "modified_before": ("last_modified", lt),
    "min_size": ("size", ge),
    "max_size": ("size", le),
    "storage_class": ("storage_class", _is_one_of),
}
"""The column that each option compares, and how."""


def select(content: Listing, settings: Backfill) -> DataFrame:
    """Return the rows that all options select, filtered by Spark itself, with `Object`'s columns.

    Raises:
        BucketcastError: the source does not have a column that an option compares, or no versions.
    """
    if settings.versions == "all" and not content.versions:
        raise BucketcastError(
            f"--versions: {content.name} has only current versions; take an Inventory "
            "configuration that includes all versions, or --source listing"
        )
    rows = content.objects
    for name, (column, holds) in FILTERS.items():
        value = getattr(settings, name)
        if value in (None, ()):
            continue
        if column in content.lacking:
            raise BucketcastError(
                f"--{name.replace('_', '-')}: {content.name} has no column {column}; add it to the "
                "Inventory configuration and wait for its next report, or take --source listing"
            )
        rows = rows.where(holds(sql.col(column), value))
    return all_versions(rows) if settings.versions == "all" else current_objects(rows)
