"""What one log holds of a run: its events, how often each, and what it shows of them."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bucketcast.event import object_id
from tests.chaos.injected import BUCKET, Identity
from tests.contract.bucket_records import Shown
from tests.servers import Arrival

MODEL_PREFIX = f"{BUCKET}/"


class RealEvent(NamedTuple):
    """An event of the real bucket; no two have the same sequencer."""

    name: str
    path: str
    sequencer: str


Event = Identity | RealEvent


class Log:
    """The events of the model and of the real bucket below `prefix` (`bucket/…`).

    `copies` counts each, `paths` are those of all events, of other runs too. `trace_ids` has what
    the functions call each.
    """

    def __init__(self, arrived: Sequence[Arrival], prefix: str) -> None:
        self.copies: Counter[Event] = Counter()
        self.trace_ids: dict[Event, str] = {}
        self.paths: set[str] = set()
        self._shown: dict[Event, set[Shown]] = defaultdict(set)
        for arrival in arrived:
            document = json.loads(arrival.body)
            (record,) = document["Records"]
            path = document["Key"]
            self.paths.add(path)
            if path.startswith((MODEL_PREFIX, prefix)):
                event = _event(path, record)
                self.copies[event] += 1
                self.trace_ids[event] = _trace_id(path, record["eventTime"])
                self._shown[event].add(_shown(document["EventName"], record))

    @property
    def injected(self) -> set[Identity]:
        return {event for event in self.copies if isinstance(event, Identity)}

    @property
    def happened(self) -> Counter[tuple[str, str]]:
        """The number of events of the real bucket, by name and path."""
        events = (event for event in self.copies if isinstance(event, RealEvent))
        return Counter((event.name, event.path) for event in events)

    def differing(
        self, injected: Mapping[Identity, Shown], listing: Mapping[str, tuple[int, str]]
    ) -> Iterator[str]:
        """Yield the copies that do not show what they have to.

        That is `injected`, or for the last event of a real key what the `listing` has of it.
        """
        last: dict[str, RealEvent] = {}
        for event, shown in self._shown.items():
            if isinstance(event, Identity):
                if event in injected and shown != {injected[event]}:
                    yield f"{event}: {shown}, not {injected[event]}"
                continue
            if {each.name for each in shown} != {event.name}:
                yield f"{event}: {shown}"
            known = last.setdefault(event.path, event)
            last[event.path] = max(known, event, key=lambda one: int(one.sequencer, 16))
        for path, event in last.items():
            creates = event.name.startswith("s3:ObjectCreated:")
            left = {(each.size, each.etag) if creates else None for each in self._shown[event]}
            if left != {listing.get(path)}:
                yield f"{event}: {left}, not {listing.get(path)}"


def _event(path: str, record: Any) -> Event:
    if path.startswith(MODEL_PREFIX):
        return Identity(path, record["responseElements"]["x-amz-request-id"])
    return RealEvent(record["eventName"], path, record["s3"]["object"]["sequencer"])


def _shown(name: str, record: Any) -> Shown:
    """What the record says, if its name is the one beside it."""
    s3_object = record["s3"]["object"]
    return Shown(
        name if name == record["eventName"] else f"{name} and {record['eventName']}",
        s3_object.get("versionId", ""),
        s3_object.get("eTag", ""),
        s3_object.get("size", 0),
    )


def _trace_id(path: str, time: str) -> str:
    bucket, _, key = path.partition("/")
    return f"{object_id(bucket, key)}@{time[11:23]}"
