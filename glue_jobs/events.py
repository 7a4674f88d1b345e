"""The objects of a listing, and the synthetic events made of them."""

from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from bucketcast.mirror.synthetic import EPOCH, OLDEST, Object, created, just_after, removed

__all__ = ["EPOCH", "OLDEST", "Object", "created", "just_after", "objects", "removed", "unix_ms"]


def unix_ms(at: datetime) -> int:
    """Return a time in Unix milliseconds."""
    return round(at.timestamp() * 1000)


def objects(listing: DataFrame) -> DataFrame:
    """Return the current objects of `LISTING`, without older versions and delete markers.

    The columns are those of `Object`, in its order: `Object(*row)`.
    """
    shown = listing.where("is_latest and not is_delete_marker")
    return shown.withColumn("modified", F.unix_millis("last_modified")).select(*Object._fields)
