"""The data pipeline's tables: `[pipeline]`, and `[scan.BUCKET]` for each scanned bucket.

The options of a scan are the job's own (`settings.pipeline`), so they are not declared again.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from bucketcast.errors import ConfigError
from bucketcast.settings.options import Limits, option, options_of
from bucketcast.settings.pipeline import Alerts
from bucketcast.settings.types import Csv, Duration, OnOff, matching
from bucketcast.targets.base.options import ValidationError

ANY: Final = "*"
_NETWORK: Final = ("subnet", "availability_zone", "security_groups")
_SCHEDULE_ALLOWED: Final = "rate(1 day), or cron(0 3 * * ? *) with six fields; its times are UTC"


@dataclass(frozen=True, kw_only=True)
class PipelineOptions:
    """The table `[pipeline]`, with which a deployment has the jobs: their workers and rights."""

    glue_version: Literal["6.0", "5.1"] = option(
        "version of AWS Glue: 6.0 with Spark 4.1, or 5.1 with Spark 3.5",
        default="6.0",
    )
    worker_type: Literal["G.1X", "G.2X", "G.4X", "G.8X", "R.1X", "R.2X", "R.4X", "R.8X"] = option(
        "worker size; G.1X has 4 vCPU and 16 GB", default="G.1X"
    )
    workers: int = option(
        "maximum number of workers; Glue scales down", default="10", limits=Limits("2", "299")
    )
    execution_class: Literal["standard", "flex"] = option(
        "flex: spare capacity, a third cheaper, and may start late", default="standard"
    )
    timeout: Duration = option("timeout of a run", default="8h", limits=Limits("1m", "168h"))
    buckets: Csv = option(
        "further buckets that the jobs may read, besides those in this file; * for all",
        default="",
        example="archive,logs",
    )
    metadata: OnOff = option("whether they may read S3 Metadata tables", default="off")
    subnet: str = option(
        "id of a VPC subnet for the jobs to run in, to reach targets there",
        default="",
        example="subnet-0a",
    )
    availability_zone: str = option(
        "availability zone of the subnet", default="", example="eu-central-1a"
    )
    security_groups: Csv = option(
        "ids of security groups; one of them must allow all traffic from itself",
        default="",
        example="sg-0a",
    )

    def validation_errors(self) -> Iterator[ValidationError]:
        """Yield the options of the network that are missing beside others."""
        present = [key for key in _NETWORK if getattr(self, key)]
        for key in _NETWORK:
            if present and key not in present:
                yield key, "missing", f"jobs in a VPC need it beside {', '.join(present)}"


@dataclass(frozen=True, kw_only=True)
class ScanOptions(Alerts):
    """A scan that starts on a schedule or after a report."""

    schedule: str = option(
        "when it runs",
        default="",
        example="rate(1 day)",
        parse=matching(
            r"rate\([1-9][0-9]* (minute|hour|day)s?\)|cron\((\S+ ){5}\S+\)", _SCHEDULE_ALLOWED
        ),
    )
    on: Literal["inventory"] = option(
        "inventory: run whenever S3 has written a report under source", default=""
    )


@dataclass(frozen=True, slots=True)
class ScanConfig:
    """A valid `[scan.BUCKET]`; `options` are those of the job that the table sets, as text."""

    options: Mapping[str, str]
    schedule: str
    on_inventory: bool

    @property
    def report(self) -> tuple[str, str] | None:
        """The bucket and folder of the Inventory reports; None for other sources."""
        source = self.options.get("source", "")
        if not source.startswith("s3://"):
            return None
        bucket, _, folder = source.removeprefix("s3://").partition("/")
        return bucket, folder.rstrip("/")


def scan(values: Mapping[str, str]) -> ScanConfig:
    """Return the configuration of a valid table."""
    declared = options_of(Alerts)
    options = {key: value for key, value in values.items() if key in declared and value}
    return ScanConfig(options, values.get("schedule", ""), bool(values.get("on")))


def scan_errors(
    bucket: str, values: Mapping[str, str], pipeline: PipelineOptions | None
) -> Iterator[ConfigError]:
    """Yield the errors of a bucket's table as a whole, and beside `[pipeline]`."""
    table = f"scan.{bucket}"
    source, schedule, on = (values.get(key, "") for key in ("source", "schedule", "on"))
    if pipeline is None:
        yield ConfigError(table, "found without the jobs", "a table [pipeline] makes them")
    if not schedule and not on:
        allowed = f'schedule = {_SCHEDULE_ALLOWED}; or on = "inventory"'
        yield ConfigError(f"{table}.schedule", "missing", allowed)
    if on and (not source.startswith("s3://") or source.endswith(".json")):
        allowed = "the s3:// URL of an Inventory configuration's folder, below which reports arrive"
        yield ConfigError(f"{table}.source", f'found {source!r} beside on = "inventory"', allowed)
    if source == "metadata" and pipeline is not None and not pipeline.metadata:
        allowed = 'metadata = "on" in [pipeline] gives the jobs the right'
        yield ConfigError(f"{table}.source", f"found {source!r}", allowed)
