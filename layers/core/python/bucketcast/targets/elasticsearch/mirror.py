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
from bucketcast.mirror.join import HIDDEN
from bucketcast.mirror.registers import Register, RegisterUpdate, fold
from bucketcast.shapes.minio import encode, records
from bucketcast.targets.base import Failures
from bucketcast.targets.elasticsearch import errors
from bucketcast.targets.elasticsearch.api import fetched, sent
from bucketcast.targets.elasticsearch.client import Requests
from bucketcast.targets.elasticsearch.documents import VISIBLE, Object, StoredDocument, Write
from bucketcast.targets.elasticsearch.ids import document_id
from bucketcast.targets.elasticsearch.index import Names

ROUNDS = 10
"""Three or four are needed; each further one is because another writer was faster."""


class WriteResult(NamedTuple):
    """What became of events, by their indexes.

    `unclear` are groups of indexes that something was rejected with: each is to be tried by itself.
    """

    failures: dict[int, DeliveryError]
    unclear: list[list[int]]

    def fail(self, indexes: Iterable[int], error: DeliveryError) -> None:
        for index_ in indexes:
            self.failures.setdefault(index_, error)


def deliver(requests: Requests, names: Names, events: Sequence[Event], now: int) -> Failures:
    """Bring the mirror in step with a batch; `now` is Unix ms."""
    failures, unclear = _delivered(requests, names, events, (), now)
    while unclear:
        turn = {each.pop() for each in unclear}
        others = {*range(len(events))} - turn
        failures |= _delivered(requests, names, events, others, now).failures
        unclear = [each for each in unclear if each]
    return failures


def _delivered(
    requests: Requests, names: Names, events: Sequence[Event], without: Container[int], now: int
) -> WriteResult:
    result = WriteResult({}, [])
    objects = _objects(fold(events, without), names, result)
    begins = tuple(b'{"_index":%b,"_id":' % encode(name) for name in names[:2])
    reason: DeliveryError = Retryable(f"others were faster to write it, {ROUNDS} times")
    try:
        for _ in range(ROUNDS):
            if not objects:
                break
            _read(requests, begins, objects, result)
            writes = [(each, write) for each in objects for write in each.next(now)]
            lines = [_line(begins, each, write) for each, write in writes]
            for (each, write), item in zip(writes, sent(requests, lines), strict=True):
                if item.error and item.status != errors.CONFLICT:
                    error = errors.of_document(item.status, item.error)
                    _failed(each, write, error, events, result)
                else:
                    each.wrote(write, item)
            objects = [each for each in objects if not each.done]
    except DeliveryError as error:
        reason = error
    for each in objects:
        if not each.done:
            result.fail(each.indexes, reason)
    return result


def _objects(entries: Iterable[RegisterUpdate], names: Names, result: WriteResult) -> list[Object]:
    objects: dict[str, Object] = {}
    for entry in entries:
        try:
            id_ = document_id(entry.key, always_hashed=names.hashed)
            removes = entry.register is Register.REMOVAL
            move = (entry, HIDDEN if removes else msgspec.Raw(records(entry.event)))
        except UnicodeEncodeError as error:
            result.fail(entry.indexes, Rejected(f"its text is not Unicode: {error}"))
            continue
        current = objects.get(id_) or objects.setdefault(id_, Object(id_, entry.key))
        current.take(move)
    return list(objects.values())


def _read(
    requests: Requests, begins: Sequence[bytes], objects: Sequence[Object], result: WriteResult
) -> None:
    """Fetch what is not known: by id, which sees every confirmed write, unlike a search."""
    wanted = [(each, side) for each in objects for side in sorted(each.unread)]
    documents = [b"%b%b}" % (begins[side == VISIBLE], each.id(side)) for each, side in wanted]
    for (each, side), doc in zip(wanted, fetched(requests, documents), strict=True):
        if doc.error:
            result.fail(each.indexes, errors.of_document(0, doc.error))
            each.done = True
        each.read(
            side, StoredDocument(doc.seq_no, doc.term, bytes(doc.source)) if doc.found else None
        )


def _failed(
    each: Object, write: Write, error: DeliveryError, events: Sequence[Event], result: WriteResult
) -> None:
    """Say which event it is about that a document was not written."""
    if isinstance(error, Rejected) and write.side == VISIBLE:
        if entry := each.refused():
            own = entry.own_index(events)
            result.fail([own], error)
            result.unclear.extend([index_] for index_ in entry.indexes if index_ != own)
        return
    if isinstance(error, Rejected) and len(each.indexes) > 1:
        result.unclear.append(list(each.indexes))
    else:
        result.fail(each.indexes, error)
    each.done = True


def _line(begins: Sequence[bytes], each: Object, write: Write) -> bytes:
    """Return a write as `_bulk` reads it."""
    side, current, document = write
    begin, id_ = begins[side == VISIBLE], each.id(side)
    version = (
        b',"if_seq_no":%d,"if_primary_term":%d' % (current.seq_no, current.term) if current else b""
    )
    if document is None:
        return b'{"delete":%b%b%b}}\n' % (begin, id_, version)
    verb = b"index" if current else b"create"
    return b'{"%b":%b%b%b}}\n%b\n' % (verb, begin, id_, version, document)
