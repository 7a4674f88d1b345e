"""The names and patterns of the EventBridge rules of buckets."""

import hashlib
from collections.abc import Collection
from typing import Any, Final

from bucketcast.rules.access_events import api_calls

_RULE_NAME: Final = 64


def rule_prefix(stack: str) -> str:
    """Return the prefix of the names of attached buckets' EventBridge rules."""
    return f"{stack}-attached-"


def rule_name(stack: str, bucket: str) -> str:
    """Return the name of an attached bucket's rule, at most EventBridge's 64 characters."""
    return fit_rule_name(rule_prefix(stack), bucket)


def fit_rule_name(prefix: str, bucket: str) -> str:
    """Return a rule's name with this prefix; a digest replaces a bucket name that does not fit."""
    name = prefix + bucket
    if len(name) <= _RULE_NAME:
        return name
    return prefix + hashlib.blake2b(bucket.encode(), digest_size=8).hexdigest()


def event_pattern(bucket: str) -> dict[str, Any]:
    """Return the event pattern for the events of one bucket."""
    return {"source": ["aws.s3"], "detail": {"bucket": {"name": [bucket]}}}


def access_pattern(bucket: str, events: Collection[str]) -> dict[str, Any]:
    """Return the event pattern for a bucket's successful calls that cause these access events."""
    return {
        "source": ["aws.s3"],
        "detail-type": ["AWS API Call via CloudTrail"],
        "detail": {
            "eventSource": ["s3.amazonaws.com"],
            "eventName": api_calls(events),
            "requestParameters": {"bucketName": [bucket]},
            "errorCode": [{"exists": False}],
        },
    }
