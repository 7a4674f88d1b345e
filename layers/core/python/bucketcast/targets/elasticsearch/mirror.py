"""The format `namespace`: each object's document in step with the bucket, whoever else writes.

Neither product joins documents in one step, or keeps a deleted one's version for long. So what is
known of an object is read, joined here, and written on the condition that nobody wrote since: the
guard's documents first, then the visible one. After a write of one the others are read again: two
writers who meet cannot both miss what the other did. Whatever a crash leaves undone belongs to an
event that was not confirmed, and is done when it comes again.

An event whose text the server does not take is rejected alone: the events of its object are written
again, one by one.
"""

from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple

import msgspec

from bucketcast.errors import DeliveryError, Rejected, Retryable
from bucketcast.event import Event
from bucketcast.namespace import Entry, Register, fold
from bucketcast.shapes.minio import encode, records
from bucketcast.targets.base import Failures
from bucketcast.targets.elasticsearch import outcome
from bucketcast.targets.elasticsearch.bulk import sent
from bucketcast.targets.elasticsearch.cluster import Talk
from bucketcast.targets.elasticsearch.ids import document_id
from bucketcast.targets.elasticsearch.index import Names
from bucketcast.targets.elasticsearch.join import VISIBLE, Held, Object, Write
from bucketcast.targets.elasticsearch.reading import fetched
from bucketcast.targets.elasticsearch.registers import GONE

ROUNDS = 10
"""Three or four are needed; each further one is because another writer was faster."""


class Fates(NamedTuple):
    """What became of events, by their places.

    `unclear` are groups of places that something was rejected with: each is to be tried by itself.
    """

    failures: dict[int, DeliveryError]
    unclear: list[list[int]]

    def fail(self, places: Iterable[int], error: DeliveryError) -> None:
        for place in places:
            self.failures.setdefault(place, error)


def deliver(
    talk: Talk, names: Names, events: Sequence[Event], refused: Failures, now: int
) -> Failures:
    """Bring the mirror in step with a batch, but for what is refused already; `now` is Unix ms."""
    failures, unclear = _delivered(talk, names, events, refused, now)
    while unclear:
        turn = {each.pop() for each in unclear}
        others = {*range(len(events))} - turn
        failures |= _delivered(talk, names, events, others, now).failures
        unclear = [each for each in unclear if each]
    return {**refused, **failures}


def _delivered(
    talk: Talk, names: Names, events: Sequence[Event], without: Container[int], now: int
) -> Fates:
    fates = Fates({}, [])
    objects = _objects(fold(events, without), names, fates)
    begins = tuple(b'{"_index":%b,"_id":' % encode(name) for name in names[:2])
    reason: DeliveryError = Retryable(f"others were faster to write it, {ROUNDS} times")
    try:
        for _ in range(ROUNDS):
            if not objects:
                break
            _read(talk, begins, objects, fates)
            writes = [(each, write) for each in objects for write in each.next(now)]
            lines = [_line(begins, each, write) for each, write in writes]
            for (each, write), item in zip(writes, sent(talk, lines), strict=True):
                if item.error and item.status != outcome.CONFLICT:
                    error = outcome.of_document(item.status, item.error)
                    _failed(each, write, error, events, fates)
                else:
                    each.wrote(write, item)
            objects = [each for each in objects if not each.done]
    except DeliveryError as error:
        reason = error
    for each in objects:
        if not each.done:
            fates.fail(each.places, reason)
    return fates


def _objects(entries: Iterable[Entry], names: Names, fates: Fates) -> list[Object]:
    objects: dict[str, Object] = {}
    for entry in entries:
        try:
            id_ = document_id(entry.key, always_hashed=names.hashed)
            removes = entry.register is Register.REMOVAL
            move = (entry, GONE if removes else msgspec.Raw(records(entry.event)))
        except UnicodeEncodeError as error:
            fates.fail(entry.places, Rejected(f"its text is not Unicode: {error}"))
            continue
        held = objects.get(id_) or objects.setdefault(id_, Object(id_, entry.key))
        held.take(move)
    return list(objects.values())


def _read(talk: Talk, begins: Sequence[bytes], objects: Sequence[Object], fates: Fates) -> None:
    """Fetch what is not known: by id, which sees every confirmed write, unlike a search."""
    wanted = [(each, side) for each in objects for side in sorted(each.unread)]
    asked = [b"%b%b}" % (begins[side == VISIBLE], each.id(side)) for each, side in wanted]
    for (each, side), doc in zip(wanted, fetched(talk, asked), strict=True):
        if doc.error:
            fates.fail(each.places, outcome.of_document(0, doc.error))
            each.done = True
        each.read(side, Held(doc.seq_no, doc.term, bytes(doc.source)) if doc.found else None)


def _failed(
    each: Object, write: Write, error: DeliveryError, events: Sequence[Event], fates: Fates
) -> None:
    """Say which event it is about that a document was not written."""
    if isinstance(error, Rejected) and write.side == VISIBLE:
        if entry := each.refused():
            own = entry.own(events)
            fates.fail([own], error)
            fates.unclear.extend([place] for place in entry.places if place != own)
        return
    if isinstance(error, Rejected) and len(each.places) > 1:
        fates.unclear.append(list(each.places))
    else:
        fates.fail(each.places, error)
    each.done = True


def _line(begins: Sequence[bytes], each: Object, write: Write) -> bytes:
    """A write as `_bulk` reads it."""
    side, held, document = write
    begin, id_ = begins[side == VISIBLE], each.id(side)
    told = b',"if_seq_no":%d,"if_primary_term":%d' % (held.seq_no, held.term) if held else b""
    if document is None:
        return b'{"delete":%b%b%b}}\n' % (begin, id_, told)
    verb = b"index" if held else b"create"
    return b'{"%b":%b%b%b}}\n%b\n' % (verb, begin, id_, told, document)
