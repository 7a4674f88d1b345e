"""The rows of "our own housekeeping": hours in which what is beside the work fails or is slow."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from bucketcast import telemetry
from bucketcast.errors import TimedOut
from bucketcast.state.counters import Counters
from bucketcast.targets.base.mirror import SWEEP_SECONDS
from bucketcast.telemetry import measure, trace
from tests.unit.simulation.ingesting import Actions
from tests.unit.simulation.lambdas import Clock
from tests.unit.simulation.sqs import DAY, HOUR
from tests.unit.simulation.troubles.aws import OPTIONAL_SECONDS, Service
from tests.unit.simulation.troubles.cell import Cell, Seen
from tests.unit.simulation.troubles.receivers import Answer, Table, Webhook
from tests.unit.simulation.troubles.scenes import Kind, Troubled

HOURS = 0.5
EVERY = 2


class _NeverSwept(Table):
    """A mirror whose expired tombstones are never deleted in time."""

    def _sweep(self, limit: int) -> int:
        self._server.clock.now += SWEEP_SECONDS
        raise TimedOut(f"{limit} tombstones take longer")


class _AlwaysSwept(Table):
    """A mirror of which ever more tombstones expire."""

    def _sweep(self, limit: int) -> int:
        self._server.clock.now += SWEEP_SECONDS / 2
        return limit


def of_housekeeping(kind: Kind, prepare: Callable[[Troubled], Any] = lambda _: None) -> Seen:
    """Play hours with an event every two seconds."""
    one = Troubled(kind, lambda *_: Answer.TAKEN)
    prepare(one)
    todo: Actions = {at: partial(one.put, f"{at}") for at in range(0, round(HOURS * HOUR), EVERY)}
    one.simulation.run(days=HOURS * HOUR / DAY + 0.01, actions=todo)
    return Seen(
        one.delays(one.sent),
        dollars=one.dollars() / HOURS,
        dead=one.dead_by_reason(),
        faults=one.faults(),
    )


def _count(one: Troubled, *, away: bool) -> None:
    """Let the table in which is counted be away, or throttle."""
    service = Service(one.simulation.clock, away=away)
    update = partial(service.ask, "UpdateItem", OPTIONAL_SECONDS)
    client: Any = SimpleNamespace(update_item=lambda **_: update() or {})
    one.make_counters = lambda: Counters("state", lambda: client)


def of_telemetry(*, fails: bool) -> Seen:
    """Play hours in which metrics and traces cannot be written, or each takes a second."""

    def prepare(one: Troubled) -> None:
        clock.append(one.simulation.clock)

    def write(_: str) -> None:
        if fails:
            raise OSError("the pipe is closed")
        clock[0].now += 1

    clock: list[Clock] = []
    with (
        patch("sys.stdout", SimpleNamespace(write=write)),
        patch.object(telemetry, "measure", measure),
        patch.object(telemetry, "trace", trace),
    ):
        return of_housekeeping(Webhook, prepare)


def _cell(when: str, play: Callable[[], Seen]) -> Cell:
    return Cell("our own housekeeping", when, play)


CELLS = (
    _cell("the sweep of tombstones never ends in time", partial(of_housekeeping, _NeverSwept)),
    _cell("there is always something to sweep", partial(of_housekeeping, _AlwaysSwept)),
    _cell(
        "counts cannot be written",
        partial(of_housekeeping, Webhook, partial(_count, away=True)),
    ),
    _cell(
        "counts are throttled",
        partial(of_housekeeping, Webhook, partial(_count, away=False)),
    ),
    _cell("metrics and traces take a second each", partial(of_telemetry, fails=False)),
    _cell("metrics and traces cannot be written", partial(of_telemetry, fails=True)),
)
