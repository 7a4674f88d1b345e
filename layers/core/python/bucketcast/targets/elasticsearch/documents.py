"""One object: its entries in a batch, its stored documents, and the writes to make."""

import msgspec

from bucketcast.mirror.join import (
    HIDDEN,
    UNKNOWN,
    Moment,
    Move,
    Put,
    Version,
    keep_row,
    needed_moves,
    put_of,
    visible_row,
)
from bucketcast.mirror.registers import ANY, Register, RegisterUpdate
from bucketcast.shapes.minio import encode
from bucketcast.targets.elasticsearch import errors
from bucketcast.targets.elasticsearch.api import Item, to_one_line
from bucketcast.targets.elasticsearch.guard import (
    NOTHING,
    GuardDocument,
    apply_moves,
    has_other_put,
    newest_put,
    parse_guard,
    same_object,
    slot_of,
)
from bucketcast.targets.elasticsearch.ids import version_id

VISIBLE = "\0"
"""The slot of the visible document; all others are versions, with documents in the guard."""
_PUT = Register.PUT  # far quicker to read than a member of a class


class StoredDocument(msgspec.Struct, gc=False):
    """A document as it was last read: writing it is conditional on its `seq_no` and `term`."""

    seq_no: int
    term: int
    source: bytes


class Write(msgspec.Struct, gc=False):
    """A write of a slot; `current` None creates the document, `document` None deletes it."""

    slot: str
    current: StoredDocument | None
    document: bytes | None


class Object(msgspec.Struct, gc=False):
    """The state of one object during a delivery.

    `references` have the index and the id of each slot's document, as JSON; those of the guard
    begin with `guard`. `current` has the document of each slot that was read, None for none.
    `unread` are the slots to read before the next writes, `done` is set once all are written.
    """

    path: str
    guard: bytes
    references: dict[str, bytes]
    moves: list[Move] = []
    current: dict[str, StoredDocument | None] = {}
    unread: tuple[str, ...] = (ANY, VISIBLE)
    done: bool = False
    _written_documents: tuple[msgspec.Raw, ...] = ()
    _without_overlay: bool = False
    _read_before_guard: StoredDocument | None = None
    _known_at_write: dict[str, StoredDocument | None] = {}

    @property
    def indexes(self) -> list[int]:
        """The indexes of its events."""
        return [index for entry, _ in self.moves for index in entry.indexes]

    def add(self, move: Move) -> None:
        """Add an entry of the batch."""
        self.moves.append(move)
        self.read(slot_of(move[0].version))

    def read(self, slot: str) -> None:
        """Have a slot read before the next writes."""
        if slot in self.unread:
            return
        self.unread += (slot,)
        if slot not in self.references:
            self.references[slot] = b"%b%b}" % (self.guard, encode(version_id(self.path, slot)))

    def plan_writes(self, now: int) -> list[Write]:
        """Return the next writes; with none, slots are `unread`, or the object is `done`."""
        if self._known_at_write:
            # The visible document was written by the guard; if that is unchanged, all is done.
            self.done = self._known_at_write == self.current
            self._known_at_write = {}
        if self.done:
            return []
        if len(self.moves) == 1 and not any(self.current.values()):
            ((entry, row),) = self.moves
            if entry.register is _PUT:  # of a new object: as nearly always
                self._written_documents = (row,)
                return [Write(VISIBLE, None, bytes(row))]
        stored = {
            slot: parse_guard(current.source) if current else NOTHING
            for slot, current in self.current.items()
            if slot != VISIBLE
        }
        document = self.current[VISIBLE]
        visible = put_of(to_one_line(document.source)) if document else None
        if document and visible:
            self.moves = [
                (entry, msgspec.Raw(kept))
                for entry, kept in (keep_row(*move, document.source) for move in self.moves)
            ]
        put = newest_put(stored[ANY].put, visible, self.moves)
        if self._has_to_read(stored, visible, put):
            return []
        known = stored[ANY].versions | (stored[slot_of(put.version)].versions if put else {})
        moves = needed_moves(put, known, self.moves)
        merged = {slot: apply_moves(guard.versions, moves, slot) for slot, guard in stored.items()}
        any_version = merged[ANY].get(ANY, UNKNOWN)
        own_version = merged[slot_of(put.version)].get(put.version, UNKNOWN) if put else UNKNOWN
        if put and put.document != HIDDEN and (any_version.hides(put) or own_version.hides(put)):
            put = msgspec.structs.replace(put, document=HIDDEN)
        if writes := list(self._guard_writes(stored, merged, put, now)):
            return writes
        if put is None and any_version == UNKNOWN:  # a foreign document, which no event concerns
            document = None
        return self._visible_writes(document, visible, put, own_version)

    def _has_to_read(
        self, stored: dict[str, GuardDocument], visible: Put | None, put: Put | None
    ) -> bool:
        """Return True if slots are `unread` now, without which nothing can be decided."""
        document = self.current[VISIBLE]
        if has_other_put(visible, stored[ANY].put) and self._read_before_guard != document:
            # The guard of the put below the overlay may have been written after it was read here.
            self._read_before_guard = document
            self.unread = tuple(self.current)
        elif put and slot_of(put.version) not in stored:
            self.read(slot_of(put.version))
        return bool(self.unread)

    def record_write(self, write: Write, item: Item) -> None:
        """Record the result of a write."""
        if item.status == errors.CONFLICT:
            self.unread = tuple(self.current)
        elif write.document is None:
            self.done = True  # a writer with a newer row meanwhile sees that its own write failed
        else:
            self.current[write.slot] = StoredDocument(item.seq_no, item.term, write.document)
            for slot in self.current:
                if slot != write.slot:
                    self.read(slot)
            if write.slot == VISIBLE:
                self._known_at_write = self.current.copy()

    def drop_refused(self) -> RegisterUpdate | None:
        """Continue without the refused document; return its entry, None if it was stored before.

        A refused overlay is left out, and the put is shown without it.
        """
        has_overlay = len(self._written_documents) > 1
        self._without_overlay = self._without_overlay or has_overlay
        self.done = not has_overlay
        refused = self._written_documents[-1]
        return next((entry for entry, document in self.moves if document == refused), None)

    def _guard_writes(
        self,
        stored: dict[str, GuardDocument],
        merged: dict[str, dict[str, Version]],
        put: Put | None,
        now: int,
    ) -> "list[Write]":
        """Return the writes of changed guard documents; an object that was only put has none."""
        if not any(merged.values()) and not any(self.current[slot] for slot in stored):
            return []
        changed = {slot for slot, document in stored.items() if merged[slot] != document.versions}
        noted_at = max(document.noted_at for document in stored.values())
        writes = []
        for slot, document in stored.items():
            if slot == ANY:
                new = GuardDocument(put, merged[ANY], now if changed else noted_at)
            else:
                time = now if slot in changed else document.noted_at
                new = GuardDocument(None, merged[slot], time)
            if new != document:
                writes.append(Write(slot, self.current[slot], encode(new)))
        return writes

    def _visible_writes(
        self, document: StoredDocument | None, visible: Put | None, put: Put | None, own: Version
    ) -> list[Write]:
        is_shown = put is not None and put.document != HIDDEN
        version = UNKNOWN if self._without_overlay else own
        row = visible_row(put, version) if put and is_shown else None
        if row is None and document:
            return [Write(VISIBLE, document, None)]
        if put and row and not self._is_visible(put, visible, row.moment):
            overlay = (own.overlay.document,) if own.overlay and row.moment != put.moment else ()
            self._written_documents = (put.document, *overlay)
            return [Write(VISIBLE, document, row.document)]
        self.done = True
        return []

    def _is_visible(self, put: Put, visible: Put | None, moment: Moment) -> bool:
        if visible is None:
            return False
        # Below an overlay, puts without a sequencer differ in their objects only.
        without_overlay = self._without_overlay and visible.sequencer == put.sequencer
        return (visible.moment == moment or without_overlay) and same_object(visible, put)
