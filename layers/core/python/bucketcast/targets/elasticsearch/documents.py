"""One object: what a batch says of it, its documents as they are stored, and what to write."""

from typing import NamedTuple

import msgspec

from bucketcast.mirror.join import HIDDEN, UNKNOWN, Moment, Move, Put, Version, visible_row
from bucketcast.mirror.registers import ANY, RegisterUpdate
from bucketcast.shapes.minio import encode
from bucketcast.targets.elasticsearch import errors
from bucketcast.targets.elasticsearch.api import Item
from bucketcast.targets.elasticsearch.guard import (
    NOTHING,
    GuardDocument,
    guard_document,
    home,
    newest,
    noted,
    same_object,
    visible_put,
)
from bucketcast.targets.elasticsearch.ids import version_id

VISIBLE = "\0"
"""The side that is seen; all others are versions, whose documents stand in the guard."""


class StoredDocument(msgspec.Struct, gc=False):
    """A document as the server had it last: what a write of it is conditional on."""

    seq_no: int
    term: int
    source: bytes


class Write(NamedTuple):
    """`current` None makes the document, `document` None deletes it."""

    side: str
    current: StoredDocument | None
    document: bytes | None


class Object:
    """One object."""

    __slots__ = (
        "_bare",
        "_id",
        "_path",
        "_seen_with",
        "_texts",
        "current",
        "done",
        "indexes",
        "moves",
        "unread",
    )

    def __init__(self, id_: str, path: str) -> None:
        self._id = encode(id_)
        self._path = path
        self._texts: tuple[msgspec.Raw, ...] = ()
        self._bare = False
        self._seen_with: dict[str, int] | None = None
        self.moves: list[Move] = []
        self.indexes: list[int] = []
        self.current: dict[str, StoredDocument | None] = {}
        self.unread: set[str] = {ANY, VISIBLE}
        self.done = False

    def take(self, move: Move) -> None:
        """Add what the batch says."""
        self.moves.append(move)
        self.indexes += move[0].indexes
        self.unread.add(home(move[0].version))

    def id(self, side: str) -> bytes:
        """Return the id of a document, as JSON."""
        return self._id if side in (ANY, VISIBLE) else encode(version_id(self._path, side))

    def read(self, side: str, found: StoredDocument | None) -> None:
        """Take in what the server has."""
        self.current[side] = found
        self.unread.discard(side)

    def next(self, now: int) -> list[Write]:
        """Return what has to be written, or read, now; when all is in step, nothing."""
        if self._seen_with is not None:
            # It shows what the guard said; if that still says the same, all is in step.
            self.done = self._seen_with == self._guard()
            self._seen_with = None
        if self.done:
            return []
        stored = {
            side: guard_document(current.source) if current else NOTHING
            for side, current in self.current.items()
            if side != VISIBLE
        }
        document = self.current[VISIBLE]
        visible = visible_put(document.source) if document else None
        put = newest(stored[ANY].put, visible, self.moves)
        if put and home(put.version) not in stored:
            self.unread.add(home(put.version))
            return []
        after = {side: noted(of.versions, self.moves, side) for side, of in stored.items()}
        any_ = after[ANY].get(ANY, UNKNOWN)
        own = after[home(put.version)].get(put.version, UNKNOWN) if put else UNKNOWN
        if put and put.document != HIDDEN and (any_.hides(put) or own.hides(put)):
            put = msgspec.structs.replace(put, document=HIDDEN)
        if writes := list(self._guarding(stored, after, put, now)):
            return writes
        if put is None and any_ == UNKNOWN:  # a document of others, of which nothing is said
            document = None
        return self._showing(document, visible, put, own)

    def wrote(self, write: Write, item: Item) -> None:
        """Take in what became of a write."""
        if item.status == errors.CONFLICT:
            self.unread.update(self.current)
        elif write.document is None:
            self.done = True  # whoever meanwhile has something to show finds that its write failed
        else:
            self.current[write.side] = StoredDocument(item.seq_no, item.term, write.document)
            self.unread.update(side for side in self.current if side != write.side)
            if write.side == VISIBLE:
                self._seen_with = self._guard()

    def refused(self) -> RegisterUpdate | None:
        """Go on without the text that may not be seen; whose of the batch it is, or of none.

        An overlay's that does not fit is not lent to the put.
        """
        lent = len(self._texts) > 1
        self._bare = self._bare or lent
        self.done = not lent
        return next((entry for entry, document in self.moves if document == self._texts[-1]), None)

    def _guard(self) -> dict[str, int]:
        return {
            side: current.seq_no
            for side, current in self.current.items()
            if current and side != VISIBLE
        }

    def _guarding(
        self,
        stored: dict[str, GuardDocument],
        after: dict[str, dict[str, Version]],
        put: Put | None,
        now: int,
    ) -> "list[Write]":
        """Return the writes of changed guard documents; an object that was only put has none."""
        if not any(after.values()) and not any(self.current[side] for side in stored):
            return []
        changed = {side for side, of in stored.items() if after[side] != of.versions}
        before = max(of.noted_at for of in stored.values())
        writes = []
        for side, of in stored.items():
            if side == ANY:
                wanted = GuardDocument(put, after[ANY], now if changed else before)
            else:
                wanted = GuardDocument(None, after[side], now if side in changed else of.noted_at)
            if wanted != of:
                writes.append(Write(side, self.current[side], encode(wanted)))
        return writes

    def _showing(
        self, document: StoredDocument | None, visible: Put | None, put: Put | None, own: Version
    ) -> list[Write]:
        is_seen = put is not None and put.document != HIDDEN
        show = visible_row(put, UNKNOWN if self._bare else own) if put and is_seen else None
        if show is None and document:
            return [Write(VISIBLE, document, None)]
        if put and show and not self._is_seen(put, visible, show.moment):
            overlay = (own.overlay.document,) if own.overlay and show.moment != put.moment else ()
            self._texts = (put.document, *overlay)
            return [Write(VISIBLE, document, show.document)]
        self.done = True
        return []

    def _is_seen(self, put: Put, visible: Put | None, moment: Moment) -> bool:
        if visible is None:
            return False
        # Puts without a sequencer look the same below an overlay, but for their objects.
        same = visible.moment == moment or (self._bare and visible.sequencer == put.sequencer)
        return same and same_object(visible, put)
