"""What a mirror must show after any events, computed as simply as possible.

It knows nothing of batches, folding or rows: it looks at all events of a key at once. Whether these
registers are the right ones it cannot tell; that is for `bucket.py`, whose events are those of a
bucket, and whose oracle is the bucket's listing. Here are also events that no bucket would send.

Of a key the newest creation is seen, by sequencer (none is the least) and then time; unless it was
removed: by its version's id, at any time, or newer by what names no version, leaves a marker, or
names "null" as it does. The latest other event of its version, if later than it, is on top.
"""

from collections.abc import Iterable
from typing import NamedTuple

from bucketcast.event import Event

_CREATIONS = ("Put", "Post", "Copy", "CompleteMultipartUpload")
CREATIONS = frozenset(f"s3:ObjectCreated:{event_}" for event_ in _CREATIONS)
DELETE = "s3:ObjectRemoved:Delete"
REMOVALS = frozenset({DELETE, "s3:ObjectRemoved:DeleteMarkerCreated"})
OVERLAYS = frozenset({"s3:ObjectCreated:PutTagging", "s3:ObjectCreated:PutLegalHold"})


class Row(NamedTuple):
    """What is seen of one key: the event on top, and the object below it."""

    name: str
    size: int
    etag: str
    sequencer: str


def without_puts_again(history: Iterable[Event]) -> list[Event]:
    """Leave out each put of a version that was removed by its id before it: an id is given once."""
    removed: set[tuple[str, str]] = set()
    left = []
    for event in history:
        version = (event.key, event.version_id or "null")
        if event.name == DELETE and version[1] != "null":
            removed.add(version)
        if event.name not in CREATIONS or version not in removed:
            left.append(event)
    return left


def visible(events: Iterable[Event]) -> dict[str, Row]:
    """`bucket/key` → what the mirror shows after these events, whatever their order.

    Where two events of a key are equally new, the first one given counts.
    """
    keys: dict[str, list[Event]] = {}
    for event in events:
        keys.setdefault(f"{event.bucket}/{event.key}", []).append(event)
    rows = ((key, _row(events_)) for key, events_ in keys.items())
    return {key: row for key, row in rows if row}


def _row(events: list[Event]) -> Row | None:
    creations = [event_ for event_ in events if event_.name in CREATIONS]
    if not creations:
        return None
    put = max(creations, key=_order)
    if any(_removes(event_, put) for event_ in events if event_.name in REMOVALS):
        return None
    overlays = [e for e in events if e.name in OVERLAYS and _version(e) == _version(put)]
    top = max(overlays, key=lambda event_: event_.time, default=put)
    top = top if top.time > put.time else put
    return Row(top.name, put.size or 0, put.etag or "", put.sequencer)


def _order(event: Event) -> tuple[int, str]:
    return int(event.sequencer or "0", 16), event.time


def _removes(removal: Event, put: Event) -> bool:
    if removal.name == DELETE and removal.version_id:
        if removal.version_id != _version(put):
            return False
        if removal.version_id != "null":
            return True
    if removal.sequencer:
        return _order(removal) > _order(put)
    return removal.time > put.time


def _version(event: Event) -> str:
    return event.version_id or "null"
