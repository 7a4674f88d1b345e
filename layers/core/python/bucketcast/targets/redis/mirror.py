"""The format `namespace`: a batch as calls of the script.

An event that the script refuses, or that makes it fail, is rejected alone: a failed call is
repeated in halves, and the events that were folded into the rejected one are folded again.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any

import msgspec

from bucketcast.errors import DeliveryError, Rejected
from bucketcast.event import Event
from bucketcast.limits import DAY, TOMBSTONE_DAYS
from bucketcast.mirror.registers import Register, RegisterUpdate, fold
from bucketcast.shapes.minio import records
from bucketcast.targets.base.batch_result import BatchResult
from bucketcast.targets.redis.client import EVENTS_PER_CALL, Command

SCRIPT = files(__package__).joinpath("mirror.lua").read_text()
_SWEEP = files(__package__).joinpath("sweep.lua").read_text()
UNREADABLE = (
    "a mirror could not read its record again: sequencer, time, version or object are not as MinIO "
    "writes them"
)
_ARGUMENT_ORDER = (Register.PUT, Register.OVERLAY, Register.REMOVAL, Register.EXPIRY)
_REMOVALS = (Register.REMOVAL, Register.EXPIRY)
_pack = msgspec.msgpack.Encoder().encode
_lua_error = re.compile(r"(?<!@)user_script:[0-9]+: (?!.*(SCRIPT KILL|not enough memory))").search
"""A failure of Lua itself, because of the arguments. The error of a command in the script, such as
one without memory, has an @ before the script's name, or is the command's own."""

Fields = tuple[str | bool, ...]
"""The arguments for an entry, after its number in the call for a put or an overlay."""
Part = list[tuple[RegisterUpdate, Fields]]
Pipeline = Callable[[Iterable[tuple[Part, Command]]], Iterator[tuple[Part, Any]]]
"""Make calls; return each part with its reply, or with the exception of a refused call."""


def guard_keys(key: str) -> tuple[str, str]:
    """Return the guard's hash for the hash `key`, and the sorted set of its entries' ages."""
    return f"{key}:guard", f"{key}:guard:aged"


def sweep_call(key: str, now: int, limit: int) -> Command:
    """Return the call that deletes up to `limit` expired fields of the guard; `now` is Unix s."""
    return ("EVAL", _SWEEP, 2, *guard_keys(key), now - TOMBSTONE_DAYS * DAY, limit)


class Delivery:
    """The delivery of one batch to the hash `key`.

    `now` is Unix s, `translate` turns an error of the client into a delivery error.
    """

    def __init__(
        self,
        events: Sequence[Event],
        result: BatchResult,
        key: str,
        now: int,
        translate: Callable[[Exception], DeliveryError],
    ) -> None:
        self._events = events
        self._result = result
        self._key = key
        self._now = now
        self._translate = translate
        self._to_fold: set[int] = set()
        self._sends_script = False

    def run(self, pipeline: Pipeline) -> None:
        """Write all unconfirmed events.

        Raises:
            RedisError, OSError: the connection broke; the remaining events stay unconfirmed.
        """
        entries = fold(self._events, self._result.failures)
        while entries:
            self._to_fold.clear()
            parts: Iterable[Part] = self._build_parts(entries)
            while parts:
                replies = pipeline((part, self._build_call(part)) for part in parts)
                parts = [
                    half for part, reply in replies for half in self._handle_reply(part, reply)
                ]
            skipped = {*range(len(self._events))} - self._to_fold
            entries = fold(self._events, skipped) if self._to_fold else []

    def _build_parts(self, entries: Sequence[RegisterUpdate]) -> Iterator[Part]:
        """Yield parts one by one, while the server executes the last one."""
        for start in range(0, len(entries), EVENTS_PER_CALL):
            yield [(entry, _fields(entry)) for entry in entries[start : start + EVENTS_PER_CALL]]

    def _build_call(self, part: Part) -> Command:
        lists: dict[Register, list[str | bool | int]] = {register: [] for register in Register}
        for number, (entry, fields) in enumerate(part):
            if entry.register not in _REMOVALS:
                lists[entry.register].append(number)
            lists[entry.register] += fields
        batch = _pack((*(lists[register] for register in _ARGUMENT_ORDER), self._now))
        command = ("EVAL", SCRIPT) if self._sends_script else ("EVALSHA", _sha1(SCRIPT))
        self._sends_script = False
        return (*command, 3, self._key, *guard_keys(self._key), batch)

    def _handle_reply(self, part: Part, reply: Any) -> list[Part]:
        """Record the result of a part; return the parts to repeat."""
        from redis.exceptions import NoScriptError  # noqa: PLC0415 - carried by functions that deliver

        if not isinstance(reply, Exception):
            rejected = [part[number][0] for number in reply]
            self._result.confirm(index for entry, _ in part for index in entry.indexes)
            for entry in rejected:
                self._reject(entry, Rejected(UNREADABLE))
            return []
        if isinstance(reply, NoScriptError):  # EVAL loads it for all later calls
            self._sends_script = True
            return [part]
        error = self._translate(reply)
        if not _lua_error(str(reply)):
            self._result.fail((index for entry, _ in part for index in entry.indexes), error)
        elif len(part) == 1:
            self._reject(part[0][0], Rejected(str(error)))
        else:
            half = len(part) // 2
            return [part[:half], part[half:]]
        return []

    def _reject(self, entry: RegisterUpdate, error: Rejected) -> None:
        """Reject the event that the entry would write, and fold the others of the entry again."""
        own = entry.own_index(self._events)
        self._result.fail([own], error)
        others = [index for index in entry.indexes if index != own]
        self._result.unconfirmed.update(others)
        self._to_fold.update(others)


@lru_cache(2)
def _sha1(script: str) -> str:
    return hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest()


def _fields(entry: RegisterUpdate) -> Fields:
    """Return the script's arguments for an entry."""
    register, key, version, event = entry.register, entry.key, entry.version, entry.event
    if register in _REMOVALS:
        return key, version, entry.sequencer, entry.time
    value = records(event).decode()
    if register is Register.OVERLAY:
        return key, version, entry.time, value
    check = event.dialect == "minio"  # we write the records of all other dialects ourselves
    seen = event.etag or "" if entry.seen else ""
    return key, entry.sequencer, entry.time, version, value, check, seen
