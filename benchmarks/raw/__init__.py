"""The same clients' own bulk writes of the same rows, with nothing of Bucketcast round them.

One module per kind: `rows(events)` makes ready what its writer takes, before the clock starts, and
`writer(settings)` opens the client once, and closes it in the end: what is timed is the client and
the server. Writes are the fastest that the client offers, confirmed by the server; those into a
mirror are guarded by a sequencer in the simplest way that is right for puts alone.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any, Protocol, cast

from bucketcast.event import Event

Batch = Sequence[Any]
Writer = Callable[[Batch], None]


class Raw(Protocol):
    """What the module of a kind offers."""

    def rows(self, events: Sequence[Event]) -> Batch: ...

    def writer(self, settings: dict[str, str]) -> AbstractContextManager[Writer]: ...


def load(kind: str) -> Raw:
    """Import the module of `kind`, with its client."""
    return cast("Raw", import_module(f"{__name__}.{kind}"))
