"""The names and patterns of the EventBridge rules of buckets."""

import hashlib
from typing import Any, Final

from bucketcast.rules.access_events import CALLS
from bucketcast.sources.cloudtrail import BUCKET_CALLS

_RULE_NAME: Final = 64


def rule_prefix(stack: str) -> str:
    """Return how the names of the EventBridge rules of attached buckets begin."""
    return f"{stack}-attached-"


def rule_name(stack: str, bucket: str) -> str:
    """Return the name of an attached bucket's rule, in the 64 characters that EventBridge takes."""
    return within_rule_name(rule_prefix(stack), bucket)


def within_rule_name(prefix: str, bucket: str) -> str:
    """Return a rule's name with this prefix; a digest replaces a bucket that does not fit."""
    name = prefix + bucket
    if len(name) <= _RULE_NAME:
        return name
    return prefix + hashlib.blake2b(bucket.encode(), digest_size=8).hexdigest()


def pattern(bucket: str) -> dict[str, Any]:
    """Return what an EventBridge rule must match to take a bucket's events, and no others."""
    return {"source": ["aws.s3"], "detail": {"bucket": {"name": [bucket]}}}


def access_rule_name(stack: str, bucket: str) -> str:
    """Return the EventBridge rule's name of a bucket's access events, which no bucket can have."""
    return rule_name(stack, f"access_{bucket}")


def access_pattern(bucket: str, *, bucket_events: bool = False) -> dict[str, Any]:
    """Return the event pattern for a bucket's calls that succeeded.

    With `bucket_events` also its creation and removal, which a trail of management events logs.
    """
    return {
        "source": ["aws.s3"],
        "detail-type": ["AWS API Call via CloudTrail"],
        "detail": {
            "eventSource": ["s3.amazonaws.com"],
            "eventName": [*CALLS, *(BUCKET_CALLS if bucket_events else ())],
            "requestParameters": {"bucketName": [bucket]},
            "errorCode": [{"exists": False}],
        },
    }
