"""An error of a worker is reported in the words that were used there."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from bucketcast.errors import BucketcastError
from glue_jobs.reason import reason
from glue_jobs.run import Run, session


@pytest.mark.both_sparks
@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (BucketcastError("s3://a/b: found no bucket, allowed is one"),) * 2,
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
    ],
)
@pytest.mark.parametrize("rows", [False, True])
def test_an_error_of_a_worker_is_reported_without_its_traceback(
    spark: SparkSession, error: Exception, expected: object, *, rows: bool
) -> None:
    def fail(_: Iterable[int]) -> Iterator[tuple[str]]:
        raise error

    failing = spark.sparkContext.parallelize([0], 1).mapPartitions(fail)
    with pytest.raises(Exception, match="Traceback") as raised:
        spark.createDataFrame(failing, "a string").collect() if rows else failing.collect()
    assert reason(raised.value) == str(expected)


def test_a_killed_spark_is_reported_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its Java is killed, as when memory runs out, and then there is none to stop."""
    gateway = launch_gateway()  # type: ignore[no-untyped-call]
    spark = Mock(stop=gateway.jvm.java.lang.System.nanoTime)
    spark.stop()
    monkeypatch.setattr(
        "glue_jobs.run.SparkSession",
        Mock(**{"builder.appName.return_value.getOrCreate.return_value": spark}),
    )

    def work() -> None:
        with Run(tmp_path.as_uri()), session("killed"):
            gateway.proc.kill()
            gateway.proc.communicate()
            gateway.jvm.java.lang.System.nanoTime()

    with pytest.raises((Py4JError, OSError)):
        work()
    document = json.loads((tmp_path / "result.json").read_text())
    assert document["status"] == "error"
    assert document["error"].startswith("Spark's Java process ended while the job worked")
    assert "memory" in document["error"]


@pytest.mark.both_sparks
def test_an_out_of_memory_error_is_reported_in_words(spark: SparkSession) -> None:
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    cause = jvm.java.lang.OutOfMemoryError("Java heap space")
    error = Py4JJavaError("An error occurred", jvm.java.lang.RuntimeException("task failed", cause))
    assert reason(error).startswith("Spark's memory ran out (Java heap space)")
