"""Check that a report's data files exist, are complete and match their manifest."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Final

from pyspark.sql import SparkSession

from bucketcast.errors import BucketcastError
from glue_jobs import files
from glue_jobs.listing.inventory.manifest import Manifest

_TASK_BYTES: Final = 1 << 29  # if they have to be read
_SHOWN_PROBLEMS: Final = 5


def check_files(spark: SparkSession, manifest: Manifest) -> None:
    """Check every data file before any of their rows is used.

    A file whose ETag is the manifest's MD5 is not read. Files that are encrypted with KMS or were
    uploaded in parts have other ETags, and are read in full.

    Raises:
        BucketcastError: files are missing or changed; it names the first few.
    """
    if not manifest.files:
        return
    expected = [(manifest.data_url(file), file.size, file.md5) for file in manifest.files]
    context = spark.sparkContext
    parts = sum(file.size for file in manifest.files) // _TASK_BYTES
    tasks = min(len(expected), 4 * context.defaultParallelism + parts)
    problems = context.parallelize(expected, tasks).mapPartitions(_problems).collect()
    if problems:
        details = "\n".join(sorted(problems)[:_SHOWN_PROBLEMS])
        raise BucketcastError(
            f"{manifest.url}: {len(problems)} of its {len(expected)} data files cannot be used; "
            f"take a report as S3 wrote it, or an older one:\n{details}"
        )


def _problems(expected: Iterable[tuple[str, int, str]]) -> Iterator[str]:
    for url, size, md5 in expected:
        try:
            problem = _problem(url, size, md5)
        except files.UnreachableError:  # no word about the report: Spark tries the task again
            raise
        except files.FileError as error:
            yield str(error)
        else:
            if problem:
                yield f"{url}: {problem}"


def _problem(url: str, size: int, md5: str) -> str:
    actual, etag = files.read_size(url)
    if actual != size:
        return f"it has {actual} bytes, the manifest says {size}"
    if etag == md5.lower():
        return ""
    digest = hashlib.md5(usedforsecurity=False)
    for piece in files.read_chunks(url):
        digest.update(piece)
    same = digest.hexdigest() == md5.lower()
    return "" if same else f"its MD5 is {digest.hexdigest()}, the manifest says {md5}"
