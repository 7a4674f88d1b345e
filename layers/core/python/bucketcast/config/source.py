"""The tables `[source.*]`: whose events come beside those of the buckets of this account."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from bucketcast.config import sns_topic
from bucketcast.errors import ConfigError, did_you_mean
from bucketcast.settings.options import Csv, option

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


@dataclass(frozen=True, kw_only=True)
class EventBridgeSourceOptions:
    """Accounts that forward S3's events to an event bus of the stack."""

    accounts: Csv = option(
        "other accounts that may forward S3's events, of any region, to the event bus that the "
        "deploy makes",
        default="",
        example="444455556666",
    )


@dataclass(frozen=True, kw_only=True)
class SourceConfig:
    """Sources beside the buckets of this account.

    `s3_accounts` are accounts whose buckets may send to the ingress queue, `sns_topics` ARNs of
    topics that it is subscribed to, `bus_accounts` accounts that may put events on the stack's bus.
    """

    s3_accounts: tuple[str, ...] = ()
    sns_topics: tuple[str, ...] = ()
    bus_accounts: tuple[str, ...] = ()


SOURCE_TABLES: Final[
    Mapping[str, type[S3SourceOptions | SnsSourceOptions | EventBridgeSourceOptions]]
] = {
    "s3": S3SourceOptions,
    "sns": SnsSourceOptions,
    "eventbridge": EventBridgeSourceOptions,
}


def unknown(tables: Mapping[str, Any]) -> Iterator[ConfigError]:
    """Find tables that are none of these."""
    for name in tables.keys() - SOURCE_TABLES.keys():
        allowed = f"{did_you_mean(name, SOURCE_TABLES)}allowed are {', '.join(SOURCE_TABLES)}"
        yield ConfigError(f"source.{name}", "unknown key", allowed)


def validation_errors(found: SourceConfig) -> Iterator[ConfigError]:
    """Find what is no account and no topic."""
    for table, accounts in (("s3", found.s3_accounts), ("eventbridge", found.bus_accounts)):
        for text in accounts:
            if not _ACCOUNT.fullmatch(text):
                where = f"source.{table}.accounts"
                yield ConfigError(where, f"found {text!r}", "allowed are 12 digits")
    for text in found.sns_topics:
        if not sns_topic.PATTERN.fullmatch(text):
            allowed = f"allowed is {sns_topic.ALLOWED}"
            yield ConfigError("source.sns.topics", f"found {text!r}", allowed)
