"""One local Spark for all tests, 4.1 or 3.5 as the environment has it; and a local AWS."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from hypothesis import HealthCheck, given, settings
from pyspark.sql import SparkSession

from bucketcast.state.rules import Rules
from glue_jobs.aws import client
from localstack.java import QUICK
from tests.glue import local_files
from tests.glue.emulator import Emulator
from tests.glue.inventories import Row, inventories
from tests.glue.scans import Scans
from tests.unit.moto_aws import TABLE, make_state_table

ROOT = Path(__file__).resolve().parents[2]
SERVERS = ROOT / ".local" / "servers"
PACKAGES = (ROOT, ROOT / "layers" / "core" / "python")
OTHER_ACCOUNTS = (
    "AWS_PROFILE",
    "AWS_SESSION_TOKEN",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
)


local_files.install()


def pytest_configure(config: pytest.Config) -> None:
    """PySpark leaves the socket of each `collect` to the garbage collector."""
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket.socket:ResourceWarning")


@pytest.fixture(scope="session")
def emulator(servers_folder: Path) -> Iterator[Emulator]:
    """The local AWS, not started: ask for `aws`, which starts it."""
    running = Emulator(servers_folder / "glue")
    yield running
    running.stop()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory, emulator: Emulator) -> Iterator[SparkSession]:
    """Start Spark as Glue 6.0 has it, where casts and overflows raise, with little memory.

    Its workers inherit the environment that the JVM is started in. So they know the address of the
    local AWS, also before it runs, and find this Python and the packages.
    """
    settings = builder(tmp_path_factory.mktemp("spark"))
    with pytest.MonkeyPatch.context() as environment:
        _direct_to(emulator, environment)
        environment.setenv("PYSPARK_PYTHON", sys.executable)
        environment.setenv("PYTHONPATH", os.pathsep.join(map(str, PACKAGES)))
        session = settings.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def aws(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulator]:
    """Start the local AWS: the code under test reaches it as on AWS, and so do Spark's workers.

    It is the same one for all tests: names of buckets, queues and tables must be the test's own.
    """
    emulator.start()
    _direct_to(emulator, monkeypatch)
    client.cache_clear()
    yield emulator
    client.cache_clear()


@pytest.fixture
def unfiltered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let configurations of reports have no filter, without asking S3."""
    monkeypatch.setattr("glue_jobs.listing.inventory._read_filter", lambda *_: ("", ""))


@pytest.fixture
def rules(aws: Emulator) -> Iterator[Rules]:
    """The state table, empty: its name is `TABLE`."""
    dynamodb = aws.client("dynamodb")
    make_state_table(dynamodb)
    yield Rules(TABLE, dynamodb)
    dynamodb.delete_table(TableName=TABLE)


@pytest.fixture
def scans(
    spark: SparkSession,
    aws: Emulator,
    rules: Rules,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> Scans:
    """A bucket without incomplete uploads."""
    scans = Scans(spark, aws, rules, tmp_path, request.node.name.replace("_", "-")[:60])
    monkeypatch.setattr("glue_jobs.listing.read", scans.listing)
    monkeypatch.setattr("glue_jobs.scanner.uploads.count", lambda *_: ([], []))
    return scans


@pytest.fixture(scope="session")
def two_hundred() -> list[Row]:
    """Draw 200 buckets as one, each in a folder: a Spark job for each would take minutes."""
    rows: list[Row] = []
    buckets = 0

    @settings(max_examples=200, database=None, suppress_health_check=list(HealthCheck))
    @given(inventories("uploads"))
    def collect(drawn: list[Row]) -> None:
        nonlocal buckets
        rows.extend(row._replace(key=f"{buckets}/{row.key}") for row in drawn)
        buckets += 1

    collect()
    assert buckets >= 200
    assert any(row.is_delete_marker for row in rows)
    return [_vary(row, nth) for nth, row in enumerate(rows)]


def _vary(row: Row, nth: int) -> Row:
    """Give a row a storage class, a size and an age, or none; delete markers have no class."""
    storage = None if row.is_delete_marker else ("STANDARD", "GLACIER", None)[nth % 3]
    modified = None if nth % 7 == 0 else row.last_modified
    size = None if nth % 5 == 0 and not row.is_delete_marker else row.size
    return row._replace(storage_class=storage, last_modified=modified, size=size)


def builder(folder: Path) -> SparkSession.Builder:
    """Return the settings of a Spark whose files and tables are in a folder."""
    iceberg = SERVERS / ("iceberg-3.5" if pyspark.__version__.startswith("3.5") else "iceberg")
    return (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "2g")
        # A busy machine takes longer than the 15 s in which Python is to fetch a result.
        .config("spark.python.authenticate.socketTimeout", "600s")
        .config("spark.python.daemon.module", "tests.glue.daemon")
        .config("spark.driver.extraJavaOptions", " ".join(["-Duser.timezone=UTC", *QUICK]))
        .config("spark.local.dir", str(folder))
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.sql.ansi.enabled", "true")
        .config("spark.python.sql.dataFrameDebugging.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        # To compile a plan takes longer than it runs on a few rows; the end-to-end jobs compile.
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        # The tests of plans look at the stages of a scan, which are dropped after a thousand.
        .config("spark.ui.retainedJobs", "100000")
        .config("spark.ui.retainedStages", "100000")
        .config("spark.jars", ",".join(map(str, iceberg.glob("*.jar"))))
        # S3 Metadata's tables, in a folder.
        .config("spark.sql.catalog.s3md", "org.apache.iceberg.spark.SparkCatalog")
        .config("spark.sql.catalog.s3md.type", "hadoop")
        .config("spark.sql.catalog.s3md.warehouse", (folder / "s3md").as_uri())
    )


def _direct_to(emulator: Emulator, environment: pytest.MonkeyPatch) -> None:
    for name in OTHER_ACCOUNTS:
        environment.delenv(name, raising=False)
    for name, value in emulator.variables().items():
        environment.setenv(name, value)
