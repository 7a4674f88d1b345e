"""The format `namespace`: keep each object's document in step with the bucket.

Neither product merges documents in one step, or keeps the version of a deleted one for long. So an
object's documents are read, merged here, and written on the condition that they have not changed:
the guard's documents first, then the visible one. After a write of one, the others are read again,
so that of two concurrent writers at least one sees the other's writes. Writes that a crash leaves
undone belong to unconfirmed events, and are done when those are retried.

An event that the server refuses is rejected alone: the events of its object are written again, one
by one.
"""

from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple

import msgspec

from bucketcast.errors import DeliveryError, Rejected, Retryable
from bucketcast.event import Event
from bucketcast.mirror.join import HIDDEN
from bucketcast.mirror.registers import ANY, Register, RegisterUpdate, fold
from bucketcast.shapes.minio import encode, records
from bucketcast.targets.base import Failures
from bucketcast.targets.elasticsearch import errors
from bucketcast.targets.elasticsearch.api import fetch, send_writes
from bucketcast.targets.elasticsearch.client import Requests
from bucketcast.targets.elasticsearch.documents import VISIBLE, Object, StoredDocument, Write
from bucketcast.targets.elasticsearch.ids import document_id
from bucketcast.targets.elasticsearch.index import Names

ROUNDS = 10
"""Three or four are needed; each further one means that another writer was faster."""
_REMOVALS = (Register.REMOVAL, Register.EXPIRY)  # far quicker to read than members of a class


class WriteResult(NamedTuple):
    """The results of events, by their indexes.

    `undecided` are groups of events that were refused together: each is to be retried alone.
    """

    failures: dict[int, DeliveryError]
    undecided: list[list[int]]

    def fail(self, indexes: Iterable[int], error: DeliveryError) -> None:
        for index_ in indexes:
            self.failures.setdefault(index_, error)


def deliver(requests: Requests, names: Names, events: Sequence[Event], now: int) -> Failures:
    """Apply a batch to the mirror; `now` is Unix ms."""
    failures, undecided = _deliver_once(requests, names, events, (), now)
    while undecided:
        retried = {group.pop() for group in undecided}
        others = {*range(len(events))} - retried
        failures |= _deliver_once(requests, names, events, others, now).failures
        undecided = [group for group in undecided if group]
    return failures


def _deliver_once(
    requests: Requests, names: Names, events: Sequence[Event], without: Container[int], now: int
) -> WriteResult:
    result = WriteResult({}, [])
    objects = _build_objects(fold(events, without), names)
    reason: DeliveryError = Retryable(f"others were faster to write it, {ROUNDS} times")
    try:
        for _ in range(ROUNDS):
            if not objects:
                break
            _fetch_unread(requests, objects, result)
            writes = [(object_, write) for object_ in objects for write in object_.plan_writes(now)]
            lines = [_bulk_line(object_, write) for object_, write in writes]
            for (object_, write), item in zip(writes, send_writes(requests, lines), strict=True):
                if item.error and item.status != errors.CONFLICT:
                    error = errors.of_document(item.status, item.error)
                    _fail(object_, write, error, events, result)
                else:
                    object_.record_write(write, item)
            objects = [object_ for object_ in objects if not object_.done]
    except DeliveryError as error:
        reason = error
    for object_ in objects:
        if not object_.done:
            result.fail(object_.indexes, reason)
    return result


def _build_objects(entries: Iterable[RegisterUpdate], names: Names) -> list[Object]:
    objects: dict[str, Object] = {}
    guard, visible = (b'{"_index":%b,"_id":' % encode(name) for name in names)
    for entry in entries:
        id_ = document_id(entry.key)
        removes = entry.register in _REMOVALS
        move = (entry, HIDDEN if removes else msgspec.Raw(records(entry.event)))
        current = objects.get(id_)
        if current is None:
            end = encode(id_) + b"}"
            references = {ANY: guard + end, VISIBLE: visible + end}
            current = objects[id_] = Object(entry.key, guard, references)
        current.add(move)
    return list(objects.values())


def _fetch_unread(requests: Requests, objects: Sequence[Object], result: WriteResult) -> None:
    """Fetch unread documents by id, which sees every confirmed write, unlike a search."""
    missing = [(object_, slot) for object_ in objects for slot in object_.unread]
    references = [object_.references[slot] for object_, slot in missing]
    for (object_, slot), document in zip(missing, fetch(requests, references), strict=True):
        if document.error:
            result.fail(object_.indexes, errors.of_document(0, document.error))
            object_.done = True
        stored = None
        if document.found:
            stored = StoredDocument(document.seq_no, document.term, bytes(document.source))
        object_.current[slot] = stored
    for object_ in objects:
        object_.unread = ()


def _fail(
    object_: Object,
    write: Write,
    error: DeliveryError,
    events: Sequence[Event],
    result: WriteResult,
) -> None:
    """Record the failure of a write for the events that it concerns."""
    is_about_document = error.alone or isinstance(error, Rejected)
    if is_about_document and write.slot == VISIBLE:
        if entry := object_.drop_refused():
            own = entry.own_index(events)
            result.fail([own], error)
            result.undecided.extend([index_] for index_ in entry.indexes if index_ != own)
        return
    if is_about_document and len(object_.indexes) > 1:
        result.undecided.append(list(object_.indexes))
    else:
        result.fail(object_.indexes, error)
    object_.done = True


def _bulk_line(object_: Object, write: Write) -> bytes:
    """Return a write in the format of `_bulk`."""
    verb, action = b"create", object_.references[write.slot]
    if current := write.current:
        verb = b"index"
        version = b'"if_seq_no":%d,"if_primary_term":%d' % (current.seq_no, current.term)
        action = b"%b,%b}" % (action[:-1], version)
    if write.document is None:
        return b'{"delete":%b}\n' % action
    return b'{"%b":%b}\n%b\n' % (verb, action, write.document)
