"""Prefixes with too many sub-folders directly below them, exact at every depth."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql


def findings(listing: DataFrame, *, many: int) -> DataFrame:
    """Prefixes with more than `many` direct sub-folders: rows of (kind, key, folders).

    `kind` is BigPrefix; `key` is the prefix with its slash, "" for the bucket itself. A sub-folder
    of P is what follows P in a key up to and with the next slash, even if that is the slash alone.
    """
    above = sql.expr("sequence(1, size(split(key, '/')) - 1)")
    deep = listing.where(sql.col("key").contains("/")).select(
        "key", sql.explode(above).alias("level")
    )
    folder = sql.expr("substring_index(key, '/', level)")
    folders = deep.select("level", folder.alias("folder")).distinct()
    parent = sql.when(sql.col("level") == 1, "").otherwise(
        sql.concat(sql.expr("substring_index(folder, '/', level - 1)"), sql.lit("/"))
    )
    counted = folders.groupBy(parent.alias("key")).agg(sql.count("*").alias("folders"))
    return counted.where(sql.col("folders") > many).select(
        sql.lit("BigPrefix").alias("kind"), "key", "folders"
    )
