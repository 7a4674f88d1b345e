"""The format `namespace`: a batch as calls of the script, and who is to blame for one that fails.

An event that the script does not take, or fails at, is rejected alone: a call that failed is made
again by halves, and what was folded into the rejected event is folded again without it.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any

import msgspec

from bucketcast.errors import DeliveryError, Rejected
from bucketcast.event import Event
from bucketcast.limits import TOMBSTONE_DAYS
from bucketcast.mirror.registers import Register, RegisterUpdate, fold
from bucketcast.shapes.minio import records
from bucketcast.targets.base.batch_result import BatchResult
from bucketcast.targets.redis.batch import EVENTS_A_CALL, fitting
from bucketcast.targets.redis.client import Command
from bucketcast.targets.redis.errors import is_script_error

SCRIPT = files(__package__).joinpath("mirror.lua").read_text()
UNREADABLE = (
    "no mirror could read its record again: sequencer, time, version or object do not stand in it "
    "as MinIO writes them"
)
_ORDER = (Register.PUT, Register.OVERLAY, Register.REMOVAL)
_pack = msgspec.msgpack.Encoder().encode


Fields = tuple[str | bool, ...]
"""An entry's, as the script reads them; behind its number in the call for a put or an overlay."""
Part = list[tuple[RegisterUpdate, Fields]]
Exchange = Callable[[Iterable[tuple[Part, Command]]], Iterator[tuple[Part, Any]]]
"""Make calls; each part comes back with its answer, which is an exception where it was refused."""


def guard(key: str) -> tuple[str, str]:
    """Return the hash that stands beside the hash `key`, and the sorted set of what ages in it."""
    return f"{key}:guard", f"{key}:guard:aged"


class Delivery:
    """One batch on its way to the hash `key`.

    `now` is Unix s, `reason` says what an error of the client's means.
    """

    def __init__(
        self,
        events: Sequence[Event],
        result: BatchResult,
        key: str,
        now: int,
        reason: Callable[[Exception], DeliveryError],
    ) -> None:
        self._events = events
        self._result = result
        self._key = key
        self._now = now
        self._reason = reason
        self._again: set[int] = set()
        self._loads = False

    def run(self, exchange: Exchange) -> None:
        """Write all of which nothing is known yet.

        Raises:
            RedisError, OSError: of what is still open, nothing will be known.
        """
        entries = fold(self._events, self._result.failures)
        while entries:
            self._again.clear()
            parts: Iterable[Part] = self._parts(entries)
            while parts:
                answers = exchange((part, self._call(part)) for part in parts)
                parts = [half for part, answer in answers for half in self._took(part, answer)]
            others = {*range(len(self._events))} - self._again
            entries = fold(self._events, others) if self._again else []

    def _parts(self, entries: Sequence[RegisterUpdate]) -> Iterator[Part]:
        """Made one by one, while the server works on the last; what cannot be written is blamed."""
        for start in range(0, len(entries), EVENTS_A_CALL):
            part: Part = []
            for entry in entries[start : start + EVENTS_A_CALL]:
                try:
                    part.append((entry, _fields(entry)))
                except (UnicodeError, msgspec.DecodeError) as error:
                    self._blame(entry, Rejected(f"its text is no JSON in Unicode: {error}"))
                except Rejected as error:
                    self._blame(entry, error)
            yield part

    def _call(self, part: Part) -> Command:
        flat: dict[Register, list[str | bool | int]] = {each: [] for each in Register}
        for number, (entry, fields) in enumerate(part):
            if entry.register is not Register.REMOVAL:
                flat[entry.register].append(number)
            flat[entry.register] += fields
        forgotten = self._now - TOMBSTONE_DAYS * 86_400
        batch = _pack((*(flat[each] for each in _ORDER), self._now, forgotten))
        how = ("EVAL", SCRIPT) if self._loads else ("EVALSHA", _sha1(SCRIPT))
        self._loads = False
        return (*how, 3, self._key, *guard(self._key), batch)

    def _took(self, part: Part, answer: Any) -> list[Part]:
        """Take in what became of a part; the halves that have to be tried by themselves."""
        from redis.exceptions import NoScriptError  # noqa: PLC0415 - only who delivers carries it

        if not isinstance(answer, Exception):
            refused = [part[number][0] for number in answer]
            self._result.confirm(index for entry, _ in part for index in entry.indexes)
            for entry in refused:
                self._blame(entry, Rejected(UNREADABLE))
            return []
        if isinstance(answer, NoScriptError):  # EVAL loads it for all that follow
            self._loads = True
            return [part]
        error = self._reason(answer)
        if not is_script_error(answer):
            self._result.fail((index for entry, _ in part for index in entry.indexes), error)
        elif len(part) == 1:
            self._blame(part[0][0], Rejected(str(error)))
        else:
            half = len(part) // 2
            return [part[:half], part[half:]]
        return []

    def _blame(self, entry: RegisterUpdate, error: Rejected) -> None:
        """Reject the event whose text it is; what was folded into it has to be written again."""
        own = entry.own_index(self._events)
        self._result.fail([own], error)
        others = [index for index in entry.indexes if index != own]
        self._result.unconfirmed.update(others)
        self._again.update(others)


@lru_cache(2)
def _sha1(script: str) -> str:
    return hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest()


def _fields(entry: RegisterUpdate) -> Fields:
    """Raise `Rejected` for what is larger than Redis takes, and what text and JSON raise."""
    register, key, version, event = entry.register, entry.key, entry.version, entry.event
    if register is Register.REMOVAL:
        (key + version).encode()
        return key, version, entry.sequencer, entry.time
    value = fitting(records(event)).decode()
    if register is Register.OVERLAY:
        return key, version, entry.time, value
    check = event.dialect == "minio"  # all others are in our own words
    return key, entry.sequencer, entry.time, version, value, check
