# /// script
# requires-python = ">=3.11"
# dependencies = ["polars>=1.30,<2"]
# ///
"""A scan by polars, as its user would write it: `uv run --script polars_scan.py DATA FOLDER`."""

import sys
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

_LARGE = 1 << 40
_TAKEN = pl.lit(datetime(2026, 1, 2, tzinfo=UTC))
_SIZES = [1 << 10, 1 << 16, 1 << 18, 1 << 19, 1 << 20, 10 << 20, 64 << 20, 128 << 20, 512 << 20]
_AGES = [1, 7, 30, 90, 365]
_SUMS = (pl.len().cast(pl.Int64).alias("versions"), pl.sum("size").alias("bytes"))


def main() -> None:
    data, output = Path(sys.argv[1]), Path(sys.argv[2])
    listing = pl.scan_parquet(data / "*.parquet")
    versions = (
        listing.group_by("key")
        .agg(pl.len().cast(pl.Int64).alias("versions"), pl.sum("size").alias("bytes"))
        .filter((pl.col("versions") > 1000) | (pl.col("bytes") >= _LARGE))
    )
    folders = listing.group_by(_parent("key").alias("folder")).agg(*_SUMS)
    classes = listing.group_by(
        "storage_class",
        "is_latest",
        "is_delete_marker",
        pl.col("size").cut(_SIZES, left_closed=True).alias("size_class"),
        (_TAKEN - pl.col("last_modified_date").dt.replace_time_zone("UTC"))
        .dt.total_days()
        .cut(_AGES, left_closed=True)
        .alias("age_class"),
    ).agg(*_SUMS)
    versions, folders, classes = pl.collect_all([versions, folders, classes], engine="streaming")
    classes.write_parquet(output / "classes.parquet")
    _prefixes(folders).write_parquet(output / "prefixes.parquet")
    many = versions.filter(pl.col("versions") > 1000).select(
        pl.lit("ManyVersions").alias("kind"), "key", pl.col("versions").alias("count"), "bytes"
    )
    large = versions.filter(pl.col("bytes") >= _LARGE).select(
        pl.lit("LargeVersions").alias("kind"), "key", pl.col("bytes").alias("count"), "bytes"
    )
    wide = (
        _ancestors(folders.select("folder").filter(pl.col("folder") != ""))
        .group_by(pl.col("folder").str.strip_suffix("/").str.replace("[^/]*$", "").alias("key"))
        .agg(pl.len().cast(pl.Int64).alias("count"))
        .filter(pl.col("count") > 50_000)
        .select(pl.lit("BigPrefix").alias("kind"), "key", "count", pl.lit(None).alias("bytes"))
    )
    findings = pl.concat([many, large, wide], how="vertical_relaxed")
    findings.write_parquet(output / "findings.parquet")


def _ancestors(folders: pl.DataFrame) -> pl.DataFrame:
    """Return these folders and all above them, each once."""
    levels = [folders]
    while len(folders):
        above = pl.col("folder").str.strip_suffix("/").str.replace("[^/]*$", "")
        folders = folders.select(above.alias("folder")).unique().filter(pl.col("folder") != "")
        levels.append(folders)
    return pl.concat(levels).unique()


def _prefixes(folders: pl.DataFrame) -> pl.DataFrame:
    """Return the twenty heaviest prefixes, to a depth of eight."""
    parts = pl.col("folder").str.split("/")
    prefixes = [
        folders.filter(parts.list.len() > level)
        .with_columns(parts.list.head(level).list.join("/").alias("prefix"))
        .group_by("prefix")
        .agg(pl.sum("versions"), pl.sum("bytes"))
        for level in range(1, 9)
    ]
    return pl.concat(prefixes).top_k(20, by="bytes")


def _parent(name: str) -> pl.Expr:
    return pl.col(name).str.replace("[^/]*$", "")


if __name__ == "__main__":
    main()
