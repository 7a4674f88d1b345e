"""The data pipeline's tables: `[pipeline]`, and a `[scan.BUCKET]` for each bucket that is scanned.

The options of a scan are the job's own (`settings.jobs`), so they are not declared again.
"""

import re
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
_SOURCE: Final = re.compile(r"listing|metadata(:[^:,\s]+)?|s3://\S+")
_WHEN_ALLOWED: Final = "rate(1 day), or cron(0 3 * * ? *) with six fields; its times are UTC"
_SOURCE_ALLOWED: Final = "allowed is listing, metadata or the s3:// URL of an Inventory report"


@dataclass(frozen=True, kw_only=True)
class PipelineOptions:
    """What the jobs run on; the table's presence makes them."""

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
        """Yield what the subnet's options are missing together."""
        network = {key: getattr(self, key) for key in _NETWORK}
        for key in (key for key, found in network.items() if not found and any(network.values())):
            others = ", ".join(other for other, found in network.items() if found)
            needed = f"jobs in a VPC need it beside {others}"
            yield key, "missing", needed


@dataclass(frozen=True, kw_only=True)
class ScanOptions(Alerts):
    """A scan that the deploy starts by itself, and when."""

    schedule: str = option(
        "when it runs",
        default="",
        example="rate(1 day)",
        parse=matching(
            r"rate\([1-9][0-9]* (minute|hour|day)s?\)|cron\((\S+ ){5}\S+\)", _WHEN_ALLOWED
        ),
    )
    on: Literal["inventory"] = option(
        "inventory: run whenever S3 has written a report under source", default=""
    )


@dataclass(frozen=True, slots=True)
class ScanConfig:
    """A checked `[scan.BUCKET]`; `options` are the job's, as text, where the table has them."""

    options: Mapping[str, str]
    schedule: str
    on_inventory: bool

    @property
    def report(self) -> tuple[str, str] | None:
        """Bucket and folder of the Inventory reports that are read; None for other sources."""
        source = self.options.get("source", "")
        if not source.startswith("s3://"):
            return None
        bucket, _, folder = source.removeprefix("s3://").partition("/")
        return bucket, folder.rstrip("/")


def scan(values: Mapping[str, str]) -> ScanConfig:
    """Return the configuration of a valid table."""
    declared = options_of(Alerts)
    options = {key: text for key, text in values.items() if key in declared and text}
    return ScanConfig(options, values.get("schedule", ""), bool(values.get("on")))


def scan_errors(
    bucket: str, values: Mapping[str, str], pipeline: PipelineOptions | None
) -> Iterator[ConfigError]:
    """Yield what the options of a bucket's table lack together, or miss in `[pipeline]`."""
    where = f"scan.{bucket}"
    source, schedule, on = (values.get(key, "") for key in ("source", "schedule", "on"))
    if pipeline is None:
        yield ConfigError(where, "found without the jobs", "a table [pipeline] makes them")
    if not schedule and not on:
        allowed = f'schedule = {_WHEN_ALLOWED}; or on = "inventory"'
        yield ConfigError(f"{where}.schedule", "missing", allowed)
    if source and not all(_SOURCE.fullmatch(each) for each in source.split(",")):
        yield ConfigError(f"{where}.source", f"found {source!r}", _SOURCE_ALLOWED)
    elif on and (not source.startswith("s3://") or "," in source or source.endswith(".json")):
        allowed = (
            "the s3:// URL of one Inventory configuration's folder, below which reports arrive"
        )
        yield ConfigError(f"{where}.source", f'found {source!r} beside on = "inventory"', allowed)
    if source.startswith("metadata") and pipeline is not None and not pipeline.metadata:
        allowed = 'metadata = "on" in [pipeline] gives the jobs the right'
        yield ConfigError(f"{where}.source", f"found {source!r}", allowed)
