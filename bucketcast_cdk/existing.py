"""Buckets that the app around a Bucketcast makes or imports, given as constructs."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import jsii
from aws_cdk import aws_s3 as s3
from constructs import IValidation

from bucketcast.config.bucket import Bucket
from bucketcast.config.model import Deployment
from bucketcast.errors import ConfigError, ConfigErrors
from bucketcast.settings.types import on_off

_OF_CDK: Final = "Notifications"
"""The construct that a bucket has once CDK writes its notifications."""


def replace_names(config: Deployment, constructs: Mapping[str, s3.IBucket]) -> Deployment:
    """Return the configuration with the constructs' names instead of its own.

    Raises:
        ConfigErrors: a construct has no table, or a scan or job wants its name.
    """
    if errors := list(_errors(config, constructs)):
        raise ConfigErrors(errors)
    named = {
        bucket.bucket_name: replace(config.buckets[name], create=on_off("off"))
        for name, bucket in constructs.items()
    }
    others = {name: bucket for name, bucket in config.buckets.items() if name not in constructs}
    return replace(config, buckets=others | named)


def _errors(config: Deployment, constructs: Mapping[str, s3.IBucket]) -> Iterator[ConfigError]:
    """Yield the errors of constructs without a table, and of tables with another name of theirs."""
    jobs = config.pipeline.buckets if config.pipeline else ()
    reports = [scan.report[0] for scan in config.scans.values() if scan.report]
    tables = (("scan", [*config.scans, *reports]), ("pipeline.buckets", jobs))
    for name, bucket in constructs.items():
        if name not in config.buckets:
            yield ConfigError(
                f"bucket.{name}",
                "is given as a construct and not in the configuration",
                f"add the table [bucket.{name}], which may be empty",
            )
        for table, names in tables:
            if name in names and bucket.bucket_name != name:
                yield ConfigError(
                    table,
                    f"names the bucket {name!r}, which is a construct of another name",
                    "give the bucket its name in CDK, and use that one",
                )


@jsii.implements(IValidation)
class NotificationConflict:
    """Refuses a bucket whose notifications CDK writes too: it writes them whole, without ours."""

    def __init__(self, constructs: Mapping[str, s3.IBucket], buckets: Mapping[str, Bucket]) -> None:
        self._constructs = constructs
        self._buckets = buckets

    def validate(self) -> list[str]:
        return [
            f"bucket.{name}: CDK writes this bucket's notifications too and would remove "
            'Bucketcast\'s; set via = "eventbridge" here, and event_bridge_enabled=True on the '
            "bucket"
            for name, bucket in self._constructs.items()
            if self._buckets[bucket.bucket_name].via != "eventbridge"
            and bucket.node.try_find_child(_OF_CDK)
        ]
