from pyspark.sql import SparkSession

from glue_jobs.listing.schema import LISTING


def test_the_session_knows_the_schema(spark: SparkSession) -> None:
    assert spark.createDataFrame([], LISTING).count() == 0
