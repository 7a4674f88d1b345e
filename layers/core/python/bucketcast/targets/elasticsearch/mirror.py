"""The format `namespace`: each object's document in step with the bucket, whoever else writes.

Neither product joins two documents in one step, or keeps a deleted one's version for long. So what
is known of an object is read, joined here, and written on the condition that nobody wrote since:
the guard's document first, then the visible one. After a write of one the other is read again:
two writers who meet cannot both miss what the other did. Whatever a crash leaves undone belongs to
an event that was not confirmed, and is done when it comes again.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from bucketcast.errors import DeliveryError, Rejected, Retryable
from bucketcast.namespace import Entry, Register
from bucketcast.shapes.minio import encode, records
from bucketcast.targets.base import Failures
from bucketcast.targets.elasticsearch import outcome
from bucketcast.targets.elasticsearch.bulk import Item, sent
from bucketcast.targets.elasticsearch.cluster import Talk
from bucketcast.targets.elasticsearch.ids import document_id
from bucketcast.targets.elasticsearch.index import Names
from bucketcast.targets.elasticsearch.registers import (
    GONE,
    NOTHING,
    Move,
    joined,
    known,
    seen,
    shown,
)

ROUNDS = 10
"""Three or four are needed; each further one is because another writer was faster."""
GUARD, VISIBLE = 0, 1
BOTH = (GUARD, VISIBLE)
_MGET = (
    "/_mget?filter_path=docs.found,docs._seq_no,docs._primary_term,docs._source,docs.error.type,"
    "docs.error.reason"
)


class Held(msgspec.Struct, gc=False):
    """A document as the server had it last: what a write of it is conditional on."""

    seq_no: int
    term: int
    source: bytes


class Read(msgspec.Struct, gc=False):
    """A document as `_mget` answers it."""

    found: bool = False
    seq_no: int = msgspec.field(name="_seq_no", default=-1)
    term: int = msgspec.field(name="_primary_term", default=-1)
    source: msgspec.Raw = msgspec.field(name="_source", default=GONE)
    error: outcome.Error | None = None


class _Answer(msgspec.Struct):
    docs: list[Read]


_decode = msgspec.json.Decoder(_Answer).decode


class Write(NamedTuple):
    """`held` None makes the document, `document` None deletes it."""

    side: int
    held: Held | None
    document: bytes | None


class Object:
    """One object: what the batch says of it, and both its documents as far as they are known."""

    __slots__ = ("done", "held", "id", "moves", "places", "unread", "wrote_visible")

    def __init__(self, id_: str) -> None:
        self.id = encode(id_)
        self.moves: list[Move] = []
        self.places: list[int] = []
        self.held: list[Held | None] = [None, None]
        self.unread: tuple[int, ...] = BOTH
        self.wrote_visible = False
        self.done = False

    def read(self, side: int, found: Held | None) -> None:
        """Take in what the server has."""
        before, self.held[side] = self.held[side], found
        if self.wrote_visible and side == GUARD:
            # It shows what the guard said; if that still says the same, all is in step.
            self.done = (before and before.seq_no) == (found and found.seq_no)
            self.wrote_visible = False

    def next(self, now: int) -> Write | None:
        """What has to be written now; when all is in step, nothing."""
        guard, document = self.held
        stored = known(guard.source) if guard else NOTHING
        visible = seen(document.source) if document else NOTHING
        wanted = joined(stored, visible, self.moves, now)
        if wanted != stored and (guard or wanted.needs_guard):
            return Write(GUARD, guard, encode(wanted))
        show = shown(wanted)
        if show is None and document:
            return Write(VISIBLE, document, None)
        if show is not None and show.identity != visible.identity:
            return Write(VISIBLE, document, show.document)
        self.done = True
        return None

    def wrote(self, write: Write, item: Item) -> None:
        """Take in what became of a write."""
        if item.status == outcome.CONFLICT:
            self.unread = BOTH
        elif write.document is None:
            self.done = True  # whoever meanwhile has something to show finds that its write failed
        else:
            self.held[write.side] = Held(item.seq_no, item.term, write.document)
            self.wrote_visible = write.side == VISIBLE
            self.unread = (GUARD,) if self.wrote_visible else (VISIBLE,)


def deliver(talk: Talk, names: Names, entries: Iterable[Entry], now: int) -> Failures:
    """Bring the mirror in step with a folded batch; `now` is Unix ms."""
    failures: dict[int, DeliveryError] = {}
    objects = _objects(entries, names, failures)
    begins = [b'{"_index":%b,"_id":' % encode(name) for name in names[:2]]
    reason: DeliveryError = Retryable(f"others were faster to write it, {ROUNDS} times")
    try:
        for _ in range(ROUNDS):
            if not objects:
                break
            _read(talk, begins, objects)
            open_ = (each for each in objects if not each.done)
            writes = [(each, write) for each in open_ if (write := each.next(now))]
            lines = [_line(begins[write.side], each.id, write) for each, write in writes]
            for (each, write), item in zip(writes, sent(talk, lines), strict=True):
                if item.error and item.status != outcome.CONFLICT:
                    error = outcome.of_document(item.status, item.error)
                    failures.update(dict.fromkeys(each.places, error))
                    each.done = True
                else:
                    each.wrote(write, item)
            objects = [each for each in objects if not each.done]
    except DeliveryError as error:
        reason = error
    failures.update((place, reason) for each in objects if not each.done for place in each.places)
    return failures


def _objects(
    entries: Iterable[Entry], names: Names, failures: dict[int, DeliveryError]
) -> list[Object]:
    objects: dict[str, Object] = {}
    for entry in entries:
        try:
            id_ = document_id(entry.key, always_hashed=names.hashed)
            removes = entry.register is Register.REMOVAL
            move = (entry, GONE if removes else msgspec.Raw(records(entry.event)))
        except UnicodeEncodeError as error:
            rejected = Rejected(f"its text is not Unicode: {error}")
            failures.update(dict.fromkeys(entry.places, rejected))
            continue
        held = objects.get(id_) or objects.setdefault(id_, Object(id_))
        held.moves.append(move)
        held.places += entry.places
    return list(objects.values())


def _read(talk: Talk, begins: Sequence[bytes], objects: Sequence[Object]) -> None:
    """Fetch what is not known: by id, which sees every confirmed write, unlike a search."""
    wanted = [(each, side) for each in objects for side in each.unread]
    docs = fetched(talk, [b"%b%b}" % (begins[side], each.id) for each, side in wanted])
    for (each, side), doc in zip(wanted, docs, strict=True):
        if doc.error:
            raise outcome.of_document(0, doc.error)
        each.read(side, Held(doc.seq_no, doc.term, bytes(doc.source)) if doc.found else None)


def fetched(talk: Talk, asked: Iterable[bytes]) -> list[Read]:
    """Documents by id, each asked for as `{"_index": …, "_id": …}`.

    Raises:
        DeliveryError: they cannot be read; what is about one of them stands in its `error`.
    """
    answer = talk.ask("POST", _MGET, b'{"docs":[%b]}' % b",".join(asked))
    try:
        return _decode(answer.body).docs
    except msgspec.DecodeError as error:
        raise Retryable(f"the answer to _mget is not Elasticsearch's ({error}): see url") from None


def _line(begin: bytes, id_: bytes, write: Write) -> bytes:
    """A write as `_bulk` reads it."""
    held, document = write.held, write.document
    told = b',"if_seq_no":%d,"if_primary_term":%d' % (held.seq_no, held.term) if held else b""
    if document is None:
        return b'{"delete":%b%b%b}}\n' % (begin, id_, told)
    verb = b"index" if held else b"create"
    return b'{"%b":%b%b%b}}\n%b\n' % (verb, begin, id_, told, document)
