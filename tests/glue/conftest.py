"""One local Spark for all tests here: that of the environment, 4.1 or 3.5."""

from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

SERVERS = Path(__file__).parents[2] / ".local" / "servers"


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """As Glue 6.0 has it, where casts and overflows raise; small, since the tests' data is."""
    folder = tmp_path_factory.mktemp("spark")
    iceberg = SERVERS / ("iceberg-3.5" if pyspark.__version__.startswith("3.5") else "iceberg")
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "2g")
        .config("spark.local.dir", str(folder))
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.sql.ansi.enabled", "true")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.ui.enabled", "false")
        # S3 Metadata's tables, in a folder.
        .config("spark.jars", ",".join(map(str, iceberg.glob("*.jar"))))
        .config("spark.sql.catalog.s3md", "org.apache.iceberg.spark.SparkCatalog")
        .config("spark.sql.catalog.s3md.type", "hadoop")
        .config("spark.sql.catalog.s3md.warehouse", (folder / "s3md").as_uri())
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
