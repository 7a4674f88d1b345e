"""Objects among the rows of a listing, and the events that are made up of them."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from bucketcast.shown import EPOCH, OLDEST, Object, created, just_after, removed

__all__ = ["EPOCH", "OLDEST", "Object", "created", "just_after", "objects", "removed"]


def objects(listing: DataFrame) -> DataFrame:
    """The objects among rows of `LISTING`, older versions and removed ones left out.

    The columns are those of `Object`, in its order: `Object(*row)`.
    """
    shown = listing.where("is_latest and not is_delete_marker")
    return shown.withColumn("modified", F.unix_millis("last_modified")).select(*Object._fields)
