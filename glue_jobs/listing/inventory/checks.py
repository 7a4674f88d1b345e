"""Check that a report's data files exist, are complete and match their manifest."""

import csv
import hashlib
import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from bucketcast.errors import BucketcastError
from glue_jobs import files
from glue_jobs.listing.inventory.manifest import Manifest

_TASK_BYTES: Final = 1 << 29  # if they have to be read
_HEAD_BYTES: Final = 1 << 16  # longer than any row
_SHOWN_PROBLEMS: Final = 5


def check_files(spark: SparkSession, manifest: Manifest, bucket: str) -> None:
    """Check every data file before any of their rows is used.

    A file whose ETag is the manifest's MD5 is not read. Files that are encrypted with KMS or were
    uploaded in parts have other ETags, and are read in full.

    Raises:
        BucketcastError: files are missing, changed or of another shape; it names the first few.
    """
    if not manifest.files:
        return
    expected = [(manifest.data_url(file), file.size, file.md5) for file in manifest.files]
    columns = manifest.columns if manifest.format == "CSV" else ()
    context = spark.sparkContext
    parts = sum(file.size for file in manifest.files) // _TASK_BYTES
    tasks = min(len(expected), 4 * context.defaultParallelism + parts)
    problems = (
        context.parallelize(expected, tasks)
        .mapPartitions(partial(_problems, columns, bucket))
        .collect()
    )
    if problems:
        details = "\n".join(sorted(problems)[:_SHOWN_PROBLEMS])
        raise BucketcastError(
            f"{manifest.url}: {len(problems)} of its {len(expected)} data files cannot be used; "
            f"take a report as S3 wrote it, or an older one:\n{details}"
        )


def check_bucket(rows: DataFrame, manifest: Manifest, bucket: str) -> None:
    """Check that the column `bucket` of Parquet or ORC files has this bucket's name alone.

    The files' statistics answer that: a column with one value is not read.

    Raises:
        BucketcastError: it has another.
    """
    wanted = sql.col("bucket").eqNullSafe(bucket)
    foreign = rows.where(~wanted).select("bucket", sql.input_file_name()).first()
    if foreign:
        raise BucketcastError(
            f"{foreign[1]}: found rows of bucket {foreign[0]}, wanted only {bucket}; take the "
            f"report of {manifest.url} as S3 wrote it"
        )


def _problems(
    columns: tuple[str, ...], bucket: str, expected: Iterable[tuple[str, int, str]]
) -> Iterator[str]:
    for url, size, md5 in expected:
        try:
            problem = _problem(url, size, md5, columns, bucket)
        except files.UnreachableError:  # no word about the report: Spark tries the task again
            raise
        except files.FileError as error:
            yield str(error)
        else:
            if problem:
                yield f"{url}: {problem}"


def _problem(url: str, size: int, md5: str, columns: tuple[str, ...], bucket: str) -> str:
    actual, etag = files.read_size(url)
    if actual != size:
        return f"it has {actual} bytes, the manifest says {size}"
    verified = etag == md5.lower()
    if verified and not columns:
        return ""
    pieces = iter(files.read_chunks(url))
    start = next(pieces, b"")
    if not verified:
        digest = hashlib.md5(usedforsecurity=False)
        for piece in chain([start], pieces):
            digest.update(piece)
        if digest.hexdigest() != md5.lower():
            return f"its MD5 is {digest.hexdigest()}, the manifest says {md5}"
    return _row_problem(start, columns, bucket) if columns else ""


def _row_problem(start: bytes, columns: tuple[str, ...], bucket: str) -> str:
    """Describe an error in the first row; the others are checked as they are read."""
    try:
        head = (
            zlib.decompressobj(wbits=31).decompress(start, _HEAD_BYTES).decode("utf-8", "replace")
        )
    except zlib.error as error:
        return f"found no gzip: {error}"
    row = next(csv.reader(head.splitlines()), None)
    if row is None:
        return ""
    if len(row) != len(columns):
        return f"a row has {len(row)} columns, fileSchema names {len(columns)}"
    named = row[columns.index("Bucket")]
    return "" if named == bucket else f"found rows of bucket {named}, wanted {bucket}"
