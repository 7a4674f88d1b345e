"""The keys at the top of the file: options of the whole stack."""

from dataclasses import dataclass
from typing import Final, Literal

from bucketcast.settings.options import option
from bucketcast.settings.types import KMS_KEY, Csv, OnOff, choice

_LOG_RETENTION_DAYS: Final = choice(
    map(
        str,
        (
            *(1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731),
            *(1096, 1827, 2192, 2557, 2922, 3288, 3653),
        ),
    )
)
"""Parses a value that CloudWatch allows: AWS::Logs::LogGroup, RetentionInDays."""


@dataclass(frozen=True, kw_only=True)
class StackOptions:
    """The keys at the top of the file."""

    sync_events: OnOff = option(
        "send one event at a time per target, each only after the previous was confirmed; also "
        "MINIO_API_SYNC_EVENTS",
        default="off",
    )
    object_facts: Literal["off", "on", "all"] = option(
        "let ingest read an object's metadata, tags, content type and storage class from S3, and, "
        "after a version was deleted, the current one: for the buckets in this file (on) or for "
        "all, which is a local deploy's default",
        default="off",
    )
    kms_key: str = option(
        "ARN of the KMS key that encrypts queues, tables, logs, functions' variables and the "
        "pipeline's bucket, instead of AWS's own",
        default="",
        parse=KMS_KEY,
    )
    kms_keys: Csv = option(
        "ARNs of the KMS keys of secrets, Inventory reports and buckets, with which functions and "
        "jobs may decrypt",
        default="",
        parse=KMS_KEY,
    )
    dashboard: OnOff = option(
        "create a CloudWatch dashboard, for up to $3.00 a month",
        default="off",
    )
    log_retention_days: int = option(
        "days that CloudWatch keeps the functions' logs",
        default="30",
        parse=lambda text: int(_LOG_RETENTION_DAYS(text)),
    )
