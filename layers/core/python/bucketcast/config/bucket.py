"""The tables `[bucket.NAME]`: buckets that the deploy connects to the ingress queue."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final, Literal

from bucketcast.rules.access_events import NAMES, PRICE
from bucketcast.rules.grammar import LONGEST_KEY
from bucketcast.rules.sent_events import EVENTS, WHOLE, Part, notified_events
from bucketcast.settings.options import option
from bucketcast.settings.types import Csv, OnOff, choice
from bucketcast.targets.base.options import ValidationError

_EVENT: Final = choice((*NAMES, *NAMES.values()))


def access_event(text: str) -> str:
    """Return the name of an access event by its word or name.

    Raises:
        ValueError: it is neither, or S3 itself notifies of the event.
    """
    event = _EVENT(text)
    return NAMES.get(event, event)


def _sent(text: str) -> str:
    notified_events(text)
    return text


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """A bucket that the deploy connects to the ingress queue."""

    create: OnOff = option("create the bucket; off for an existing one", default="on")
    via: Literal["sqs", "eventbridge", "both"] = option(
        "how S3 delivers its events; both of them while you change it", default="sqs"
    )
    events: Csv = option(
        "events that S3 sends to the queue: its names, or MinIO's put, delete, replica and ilm; "
        "all without",
        default="",
        example="put,delete",
        parse=_sent,
    )
    prefix: str = option("only events of keys with this prefix", default="", example="photos/")
    suffix: str = option("only events of keys with this suffix", default="", example=".jpg")
    access_events: Csv = option(
        f"events that only CloudTrail reports, {PRICE}: {', '.join(NAMES)}, or their names",
        default="",
        parse=access_event,
    )

    @property
    def part(self) -> Part:
        """What S3 sends to the ingress queue."""
        events = chain.from_iterable(map(notified_events, self.events))
        return Part.of(events if self.events else EVENTS, self.prefix, self.suffix)

    def validation_errors(self) -> Iterator[ValidationError]:
        """Yield an error if S3 cannot send such a part of the events."""
        for end in ("prefix", "suffix"):
            if len(getattr(self, end).encode()) > LONGEST_KEY or "\0" in getattr(self, end):
                yield end, "found more than a key has", f"{LONGEST_KEY:,} bytes without NUL"
        if self.via == "eventbridge" and self.part != WHOLE:
            found = "found events, prefix or suffix"
            yield "via", found, "EventBridge gets all events: select with rules"
