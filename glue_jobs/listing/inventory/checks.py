"""Check that a report's data files exist, are complete and match their manifest."""

import csv
import hashlib
import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from bucketcast.errors import BucketcastError
from glue_jobs import files
from glue_jobs.listing.inventory.manifest import Manifest

_TASK: Final = 1 << 29  # bytes, should they have to be read
_HEAD: Final = 1 << 16  # bytes; longer than any row
_SHOWN: Final = 5


def check(spark: SparkSession, manifest: Manifest, bucket: str) -> None:
    """Check every data file before any of their rows is used.

    Where S3's ETag is the manifest's MD5, nothing is read. It is not for files that are encrypted
    with KMS or were uploaded in parts: those are read in full.

    Raises:
        BucketcastError: with the first few of those that are missing, changed or of another shape.
    """
    if not manifest.files:
        return
    expected = [(manifest.data_url(file), file.size, file.md5) for file in manifest.files]
    columns = manifest.columns if manifest.format == "CSV" else ()
    context = spark.sparkContext
    read = sum(file.size for file in manifest.files) // _TASK
    tasks = min(len(expected), 4 * context.defaultParallelism + read)
    problems = (
        context.parallelize(expected, tasks)
        .mapPartitions(partial(_problems, columns, bucket))
        .collect()
    )
    if problems:
        text = "\n".join(sorted(problems)[:_SHOWN])
        raise BucketcastError(
            f"{manifest.url}: {len(problems)} of its {len(expected)} data files cannot be used; "
            f"take a report as S3 wrote it, or an older one:\n{text}"
        )


def of_bucket(rows: DataFrame, manifest: Manifest, bucket: str) -> None:
    """Check that Parquet's or ORC's column `bucket` holds this one bucket.

    The files' statistics answer that: a column with one value is not read.

    Raises:
        BucketcastError: it holds another.
    """
    wanted = F.col("bucket").eqNullSafe(bucket)
    other = rows.where(~wanted).select("bucket", F.input_file_name()).first()
    if other:
        raise BucketcastError(
            f"{other[1]}: found rows of bucket {other[0]}, wanted only {bucket}; take the report "
            f"of {manifest.url} as S3 wrote it"
        )


def _problems(
    columns: tuple[str, ...], bucket: str, expected: Iterable[tuple[str, int, str]]
) -> Iterator[str]:
    for url, size, md5 in expected:
        try:
            problem = _problem(url, size, md5, columns, bucket)
        except files.FileError as error:
            yield str(error)
        else:
            if problem:
                yield f"{url}: {problem}"


def _problem(url: str, size: int, md5: str, columns: tuple[str, ...], bucket: str) -> str:
    found, etag = files.facts(url)
    if found != size:
        return f"it has {found} bytes, the manifest says {size}"
    verified = etag == md5.lower()
    if verified and not columns:
        return ""
    pieces = iter(files.chunks(url))
    start = next(pieces, b"")
    if not verified:
        digest = hashlib.md5(usedforsecurity=False)
        for piece in chain([start], pieces):
            digest.update(piece)
        if digest.hexdigest() != md5.lower():
            return f"its MD5 is {digest.hexdigest()}, the manifest says {md5}"
    return _row_problem(start, columns, bucket) if columns else ""


def _row_problem(start: bytes, columns: tuple[str, ...], bucket: str) -> str:
    """Return what is wrong with the first row; the others are checked as they are read."""
    try:
        text = zlib.decompressobj(wbits=31).decompress(start, _HEAD).decode("utf-8", "replace")
    except zlib.error as error:
        return f"found no gzip: {error}"
    row = next(csv.reader(text.splitlines()), None)
    if row is None:
        return ""
    if len(row) != len(columns):
        return f"a row has {len(row)} columns, fileSchema names {len(columns)}"
    found = row[columns.index("Bucket")]
    return "" if found == bucket else f"found rows of bucket {found}, wanted {bucket}"
