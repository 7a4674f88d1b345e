"""The tables `[source.s3]` and `[source.sns]`: who else may write to the ingress queue."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from bucketcast.config import sns_topic
from bucketcast.errors import ConfigError, did_you_mean
from bucketcast.settings.options import Csv, option

TABLES: Final = ("s3", "sns")
_ACCOUNT: Final = re.compile(r"[0-9]{12}")


@dataclass(frozen=True, kw_only=True)
class S3SourceOptions:
    """Buckets of other accounts, which their owners attach."""

    accounts: Csv = option(
        "other accounts whose buckets, in the stack's region, may send to the ingress queue",
        default="",
        example="444455556666",
    )


@dataclass(frozen=True, kw_only=True)
class SnsSourceOptions:
    """Topics between buckets and the ingress queue."""

    topics: Csv = option(
        "ARNs of standard SNS topics that get S3's notifications, of any region; the deploy "
        "subscribes the ingress queue, and a topic of another account has to allow that",
        default="",
        example="arn:aws:sns:eu-west-1:444455556666:uploads",
    )


def unknown(tables: Mapping[str, Any]) -> Iterator[ConfigError]:
    """Find tables that are none of these."""
    for name in tables.keys() - set(TABLES):
        allowed = f"{did_you_mean(name, TABLES)}allowed are {', '.join(TABLES)}"
        yield ConfigError(f"source.{name}", "unknown key", allowed)


def validation_errors(s3: S3SourceOptions, sns: SnsSourceOptions) -> Iterator[ConfigError]:
    """Find what is no account and no topic."""
    for text in s3.accounts:
        if not _ACCOUNT.fullmatch(text):
            yield ConfigError("source.s3.accounts", f"found {text!r}", "allowed are 12 digits")
    for text in sns.topics:
        if not sns_topic.PATTERN.fullmatch(text):
            allowed = f"allowed is {sns_topic.ALLOWED}"
            yield ConfigError("source.sns.topics", f"found {text!r}", allowed)
