"""The tables `[bucket.NAME]`: buckets that the deploy connects to the ingress queue."""

from dataclasses import dataclass
from typing import Final, Literal

from bucketcast.rules.access_events import NAMES, PRICE
from bucketcast.settings.options import option
from bucketcast.settings.types import Csv, OnOff, choice

_EVENT: Final = choice((*NAMES, *NAMES.values()))


def access_event(text: str) -> str:
    """Return the name of an access event by its word or name.

    Raises:
        ValueError: it is neither, or S3 itself notifies of the event.
    """
    event = _EVENT(text)
    return NAMES.get(event, event)


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """A bucket that the deploy connects to the ingress queue."""

    create: OnOff = option("create the bucket; off for an existing one", default="on")
    via: Literal["sqs", "eventbridge", "both"] = option(
        "how S3 delivers its events; both of them while you change it", default="sqs"
    )
    access_events: Csv = option(
        f"events that only CloudTrail reports, {PRICE}: {', '.join(NAMES)}, or their names",
        default="",
        parse=access_event,
    )
