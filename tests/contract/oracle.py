"""What a mirror of a bucket has to show, said as plainly as possible.

It knows nothing of batches, folding or rows: it looks at all events of a key at once and takes the
newest put, the newest removal of each version and the newest overlay, as `bucketcast.namespace`
describes them. Where two events of one register have the same order, the first one given counts.
"""

from collections.abc import Iterable
from typing import NamedTuple

from bucketcast.event import Event
from bucketcast.names import NOTHING_HAPPENED, REMOVALS
from bucketcast.namespace import ANY, UNVERSIONED, newer
from bucketcast.shapes.minio import path


class Row(NamedTuple):
    """What is seen of one key: the event on top, and the object below it."""

    name: str
    size: int
    etag: str
    sequencer: str


def visible(events: Iterable[Event]) -> dict[str, Row]:
    """`bucket/key` → what the mirror shows after these events, whatever their order."""
    keys: dict[str, list[Event]] = {}
    for event in events:
        if event.key and event.name != NOTHING_HAPPENED:
            keys.setdefault(path(event), []).append(event)
    rows = ((key, _row(of_key)) for key, of_key in keys.items())
    return {key: row for key, row in rows if row}


def _row(events: list[Event]) -> Row | None:
    put = _newest(e for e in events if e.sequencer and e.name not in REMOVALS)
    overlay = _newest(e for e in events if not e.sequencer and e.name not in REMOVALS)
    removals = [e for e in events if e.name in REMOVALS]
    if put is None:
        return _seen(overlay, overlay) if overlay and not removals else None
    if any(newer(r.order, put.order) and _about(r) in (ANY, _version(put)) for r in removals):
        return None
    return _seen(overlay if overlay and newer(overlay.order, put.order) else put, put)


def _newest(events: Iterable[Event]) -> Event | None:
    newest: Event | None = None
    for event in events:
        if newest is None or newer(event.order, newest.order):
            newest = event
    return newest


def _about(removal: Event) -> str:
    """The one version that a removal takes away, or `ANY`."""
    named = removal.name == "s3:ObjectRemoved:Delete" and removal.version_id is not None
    return str(removal.version_id) if named else ANY


def _version(put: Event) -> str:
    return put.version_id or UNVERSIONED


def _seen(top: Event, held: Event) -> Row:
    return Row(top.name, held.size or 0, held.etag or "", held.sequencer)
