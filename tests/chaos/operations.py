"""The planned operations on a real bucket."""

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

WORKERS = 3
_LARGEST = 4_000
_KINDS = {"put": 6, "overwrite": 3, "copy": 2, "multipart": 1, "delete": 2, "delete many": 0.3}
_MANY = 5
_NAMES = {
    "put": "s3:ObjectCreated:Put",
    "overwrite": "s3:ObjectCreated:Put",
    "copy": "s3:ObjectCreated:Copy",
    "multipart": "s3:ObjectCreated:CompleteMultipartUpload",
    "delete": "s3:ObjectRemoved:Delete",
    "delete many": "s3:ObjectRemoved:Delete",
}


class RealOperation(NamedTuple):
    """One call of S3; `origin` is what a copy is made of, `size` is of what is written."""

    kind: str
    keys: tuple[str, ...]
    size: int = 0
    origin: str = ""

    @property
    def events(self) -> int:
        return len(self.keys)

    @property
    def name(self) -> str:
        """The name of each of its events."""
        return _NAMES[self.kind]


def operations(events: int, source: random.Random) -> list[list[RealOperation]]:
    """What each worker does; each has keys of its own, so that a plan is one order of events."""
    share = -(-events // WORKERS)
    return [list(_of_worker(f"{worker}/", share, source)) for worker in range(WORKERS)]


def remaining(performed: Iterable[Sequence[RealOperation]]) -> set[str]:
    """Return the keys that are there when all workers have done this."""
    keys: set[str] = set()
    for one in (operation for worker in performed for operation in worker):
        if one.kind.startswith("delete"):
            keys.difference_update(one.keys)
        else:
            keys.update(one.keys)
    return keys


def _of_worker(prefix: str, events: int, source: random.Random) -> Iterator[RealOperation]:
    stored: list[str] = []
    done = made = 0
    while done < events:
        kind = source.choices(list(_KINDS), list(_KINDS.values()))[0] if stored else "put"
        size = source.randrange(_LARGEST)
        if kind in ("put", "multipart", "copy"):
            made += 1
            key = f"{prefix}{made:05} ä+%.jpg"
            one = RealOperation(kind, (key,), size, _any(stored, source) if kind == "copy" else "")
            stored.append(key)
        elif kind == "overwrite":
            one = RealOperation(kind, (_any(stored, source),), size)
        else:
            count = min(len(stored), events - done, _MANY if kind == "delete many" else 1)
            one = RealOperation(kind, tuple(_take(stored, source) for _ in range(count)))
        done += one.events
        yield one


def _any(stored: Sequence[str], source: random.Random) -> str:
    return stored[source.randrange(len(stored))]


def _take(stored: list[str], source: random.Random) -> str:
    return stored.pop(source.randrange(len(stored)))
