"""What went wrong in a worker is told in the words that were used there."""

from collections.abc import Iterable, Iterator

import pytest
from pyspark.sql import SparkSession

from glue_jobs.listing.schema import BadListingError
from glue_jobs.reason import reason


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (BadListingError("s3://a/b: found no bucket, allowed is one"),) * 2,
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
    ],
)
@pytest.mark.parametrize("rows", [False, True])
def test_an_error_of_a_worker_is_told_without_its_traceback(
    spark: SparkSession, error: Exception, told: object, *, rows: bool
) -> None:
    def fails(_: Iterable[int]) -> Iterator[tuple[str]]:
        raise error

    failing = spark.sparkContext.parallelize([0], 1).mapPartitions(fails)
    with pytest.raises(Exception, match="Traceback") as raised:
        spark.createDataFrame(failing, "a string").collect() if rows else failing.collect()
    assert reason(raised.value) == str(told)
