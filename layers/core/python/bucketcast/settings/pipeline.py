"""The options of the pipeline's jobs, with their defaults.

Each is declared once, for the command line, Glue's job arguments and the job itself. The thresholds
of a scan are in `Alerts`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, TypeVar

from bucketcast.event.scanner import BIG_PREFIX, LARGE_VERSIONS, MANY_VERSIONS, Kind
from bucketcast.settings.options import option, options_of, read
from bucketcast.settings.types import Csv, Duration, OnOff, choice, integer

T = TypeVar("T")
STORAGE_CLASSES: Final = (
    "STANDARD",
    "STANDARD_IA",
    "ONEZONE_IA",
    "INTELLIGENT_TIERING",
    "GLACIER_IR",
    "GLACIER",
    "DEEP_ARCHIVE",
    "REDUCED_REDUNDANCY",
    "EXPRESS_ONEZONE",
)


def _source(text: str) -> str:
    if text not in ("listing", "metadata") and not text.startswith("s3://"):
        raise ValueError("listing, metadata or the s3:// URL of an Inventory report")
    return text


@dataclass(frozen=True, kw_only=True)
class Content:
    """The part of a bucket's content that is read, and its source."""

    source: str = option(
        "where the bucket's content is read from: listing (S3 itself), metadata (its S3 Metadata "
        "table) or the s3:// URL of an Inventory report: a manifest.json, or the folder of a "
        "configuration, for its newest report",
        default="listing",
        example="s3://inventories/uploads/daily",
        parse=_source,
    )
    prefix: str = option("only keys that begin with it", default="", example="photos/")


@dataclass(frozen=True, kw_only=True)
class Job(Content):
    """The arguments that all jobs have."""

    bucket: str = option("the bucket", example="uploads")
    run: str = option("the folder of this run", example="s3://bucketcast-pipeline/runs/scan/1")


def _threshold(kind: Kind) -> Any:
    return option(f"{kind.description} is an {kind.event}", default=str(kind.default))


@dataclass(frozen=True, kw_only=True)
class Alerts(Content):
    """What a scan alerts; thresholds have MinIO's names, where MinIO has one."""

    alert_excess_versions: int = _threshold(MANY_VERSIONS)
    alert_versions_size: int = _threshold(LARGE_VERSIONS)
    alert_excess_folders: int = _threshold(BIG_PREFIX)
    alert_worse: int = option(
        "per cent by which a finding must have grown since its last alert to be alerted again",
        default="10",
    )
    alert_cooldown: Duration = option(
        "how long a finding is not alerted again, however it grows",
        default="0",
        example="24h",
    )


@dataclass(frozen=True, kw_only=True)
class Scan(Alerts, Job):
    """`bucketcast scan`: find conspicuous keys and prefixes, as events and a report."""

    state: str = option(
        "the folder that stores what was alerted", example="s3://bucketcast-pipeline/alerts"
    )
    ingress: str = option(
        "the URL of the ingress queue",
        example="https://sqs.us-east-1.amazonaws.com/123456789012/Bucketcast-ingress",
    )
    table: str = option("the name of the state table", example="Bucketcast-State12AB34CD")
    dry_run: OnOff = option("on: report, but send no event and remember no finding", default="off")


@dataclass(frozen=True, kw_only=True)
class Sending(Job):
    """The arguments of the jobs that send events to one target."""

    target: str = option("the target's ARN", example="arn:minio:sqs::mirror:postgresql")
    rate: int = option("events a second at most; 0 means no limit", default="1000")
    table: str = option("the name of the state table", default="")
    queue: str = option(
        "the URL of the target's queue",
        example="https://sqs.us-east-1.amazonaws.com/123456789012/Bucketcast-postgres-mirror",
    )


@dataclass(frozen=True, kw_only=True)
class Backfill(Sending):
    """`bucketcast backfill`: send existing objects as events to one target."""

    manifest: str = option(
        "only the objects of a manifest of S3 Batch Operations, instead of a source: a CSV of "
        "bucket, key and perhaps version, a file or an s3:// URL",
        default="",
        example="objects.csv",
    )
    versions: Literal["current", "all"] = option(
        "all: also noncurrent versions and delete markers, for a target that stores events",
        default="current",
    )
    modified_after: datetime | None = option(
        "only objects that were modified then or later; a time without an offset is in UTC",
        default="",
        example="2026-03-14T09:30:00Z",
    )
    modified_before: datetime | None = option(
        "only objects that were modified before", default="", example="2026-03-15"
    )
    min_size: int | None = option(
        "only objects of so many bytes or more", default="", parse=integer
    )
    max_size: int | None = option(
        "only objects of so many bytes or fewer", default="", parse=integer
    )
    storage_class: Csv = option(
        "only objects in this storage class; may be repeated",
        default="",
        example="GLACIER",
        parse=choice(STORAGE_CLASSES),
    )
    dry_run: OnOff = option("on: end with an estimate, before the first event", default="off")
    timeout: int = option("seconds after which Glue ends a run; 0 for never", default="0")


@dataclass(frozen=True, kw_only=True)
class Reconcile(Sending):
    """`bucketcast reconcile`: compare a target in format namespace with its bucket."""

    repair: OnOff = option("on: also send corrective events for what differs", default="off")
    mirror: str = option(
        "JSON of the target's kind and settings, with references to its secrets",
        example='{"kind":"redis","settings":{"address":"redis:6379","key":"mirror"}}',
    )


JOBS: Final[Mapping[str, type[Job]]] = {"scan": Scan, "backfill": Backfill, "reconcile": Reconcile}
DEPLOYED: Final = frozenset(
    {
        "run",
        "state",
        "ingress",
        "table",
        "timeout",
        "queue",
        "mirror",
    }
)
"""The options that the deployment or the command sets; the others are the user's."""


def arguments(values: Mapping[str, str]) -> dict[str, str]:
    """Return values as Glue's arguments, `{"--bucket": "uploads", …}`, without unset ones."""
    return {f"--{key}": value for key, value in values.items() if value}


def parse(declared: type[T], argv: Sequence[str]) -> T:
    """Return a job's arguments from its command line; Glue's own are ignored.

    Raises:
        ConfigErrors: with every invalid setting.
    """
    # argparse refuses values that begin with a hyphen, as a prefix may.
    known = options_of(declared)  # type: ignore[arg-type]  # classes are hashable
    values: dict[str, Any] = {}
    words = iter(argv)
    for word in words:
        name, equals, value = word.partition("=")
        key = name.removeprefix("--")
        if name.startswith("--") and key in known:
            values[key] = value if equals else next(words, "")
    return read(declared, values, "--")
