"""The table `[trail]`, and what a trail of CloudTrail has to log for the buckets' access events."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from bucketcast.event.names import BUCKET_CREATED, BUCKET_REMOVED
from bucketcast.rules.access_events import PRICE, api_calls
from bucketcast.settings.options import option
from bucketcast.settings.types import OnOff

BUCKET_EVENTS: Final = frozenset({BUCKET_CREATED, BUCKET_REMOVED})


@dataclass(frozen=True, kw_only=True)
class TrailOptions:
    """The trail of all buckets with access events."""

    create: OnOff = option(
        "make a trail that logs the access events of the buckets; off if another trail of this "
        "account or its Organization logs them, whose owner selects what",
        default="on",
    )


def selectors(buckets: Mapping[str, tuple[str, ...]], partition: str) -> list[dict[str, Any]]:
    """Return the advanced event selectors for the access events of buckets, by bucket.

    A trail takes 500 values in all fields of its selectors. Buckets with the same events share a
    selector, so that the buckets of a stack always fit.

    Source: "PutEventSelectors" of the CloudTrail documentation.
    """
    buckets_by_calls: dict[tuple[str, ...], list[str]] = {}
    for bucket, events in buckets.items():
        if calls := tuple(api_calls(set(events) - BUCKET_EVENTS)):
            buckets_by_calls.setdefault(calls, []).append(bucket)
    made = [_data_events(calls, names, partition) for calls, names in buckets_by_calls.items()]
    if any(not BUCKET_EVENTS.isdisjoint(events) for events in buckets.values()):
        made.append(_management_events())
    return made


def _data_events(calls: tuple[str, ...], buckets: list[str], partition: str) -> dict[str, Any]:
    starts = [f"arn:{partition}:s3:::{bucket}/" for bucket in buckets]
    return {
        "Name": ", ".join(calls),
        "FieldSelectors": [
            {"Field": "eventCategory", "Equals": ["Data"]},
            {"Field": "resources.type", "Equals": ["AWS::S3::Object"]},
            {"Field": "eventName", "Equals": list(calls)},
            {"Field": "resources.ARN", "StartsWith": starts},
        ],
    }


def _management_events() -> dict[str, Any]:
    """Return the narrowest selector of a trail for created and removed buckets."""
    return {
        "Name": "Management events, writing",
        "FieldSelectors": [
            {"Field": "eventCategory", "Equals": ["Management"]},
            {"Field": "readOnly", "Equals": ["false"]},
        ],
    }


def notes(options: TrailOptions, buckets: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Yield notes for the deploy on the access events of buckets, by bucket."""
    trail = "a trail logs" if options.create else "the owner of another trail has to let it log"
    for bucket, events in buckets.items():
        if calls := api_calls(set(events) - BUCKET_EVENTS):
            yield f"bucket.{bucket}.access_events: {trail} {', '.join(calls)}, at {PRICE}"
        if calls := api_calls(BUCKET_EVENTS & set(events)):
            yield (
                f"bucket.{bucket}.access_events: {trail} {', '.join(calls)}, with all management "
                "events that write: a second copy of these in an account and region costs $2.00 "
                "per 100,000"
            )
