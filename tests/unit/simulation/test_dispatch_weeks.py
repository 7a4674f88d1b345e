"""A target that is down, slow or failing for weeks: what becomes of its events."""

import os
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from tests.unit.simulation.delivering import Delivering, Phase
from tests.unit.simulation.sqs import DAY, HOUR

EXAMPLES = int(os.environ.get("MODEL_EXAMPLES", "3"))
FAULTS = ["down", "busy", "throttling", "crash", "late", "hole", "moody"]


@pytest.mark.parametrize("fifo", [False, True])
@pytest.mark.parametrize("how", FAULTS)
def test_sqs_itself_moves_and_drops_nothing(how: str, *, fifo: bool) -> None:
    one = Delivering([Phase(30, how)], fifo=fifo, grain=20)
    one.put("a", "b", "c", "d")
    one.simulation.run(days=15)
    one.check()
    assert max(one.letters().values()) == 1


@pytest.mark.parametrize("fifo", [False, True])
def test_a_target_that_is_back_in_time_gets_everything(*, fifo: bool) -> None:
    one = Delivering([Phase(12.9, "hole")], fifo=fifo, grain=20)
    one.put("a", "b", "c", "d")
    one.simulation.run(days=15)
    one.check()
    assert (set(one.target.taken), one.letters()) == (set(one.sent), {})


def test_redriven_events_are_tried_for_a_whole_term() -> None:
    """Of 3,000 that were redriven, 2,000 were dead-lettered at once because "time was up"."""
    one = Delivering([Phase(14, "throttling", HOUR), Phase(2, "slow")], batch_size=5, grain=60)
    one.put(*(f"{n}" for n in range(24)))
    one.simulation.run(days=16, actions={14 * DAY: one.redrive})
    one.check()
    assert one.letters() == one.sent, "no event was dead-lettered twice"
    assert set(one.target.taken) == set(one.sent)


def test_backlog_of_a_silent_target_is_dead_lettered_in_time() -> None:
    """Each call takes all of its time, so no more than some can be tried on the last day."""
    one = Delivering([Phase(30, "hole")], timeout=900, workers=1, batch_size=1, grain=60)
    one.target.max_seconds = 800.0
    for n in range(120):
        one.put(f"{n}")
    one.simulation.run(days=14.5)
    one.check()
    assert one.letters() == one.sent


def test_in_order_events_of_a_silent_target_are_dead_lettered_in_time() -> None:
    one = Delivering([Phase(30, "hole")], timeout=900, fifo=True, grain=60)
    one.target.max_seconds = 800.0
    one.put(*(f"{n}" for n in range(150)))
    one.simulation.run(days=14.5)
    one.check()
    assert one.letters() == one.sent
    assert len(one.reasons()) > 1


PHASES = st.lists(
    st.builds(
        Phase,
        st.sampled_from([0.001, 0.04, 1.0, 5.0, 12.0]),
        st.sampled_from([*FAULTS, "slow", "refusing", "up"]),
        st.sampled_from([0.5, 1.0, 60.0, 5_000.0]),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=EXAMPLES)
@given(
    phases=PHASES,
    puts=st.lists(st.tuples(st.integers(0, 12 * 24), st.integers(1, 12)), min_size=1, max_size=4),
    redrives=st.lists(st.sampled_from([13.5, 14.0, 20.0, 27.0, 30.0]), max_size=2, unique=True),
    fifo=st.booleans(),
    batch_size=st.sampled_from([1, 3, 1_000]),
    seed=st.integers(0, 9),
)
@example(  # the first event is given up in a call that the second one crashes
    phases=[Phase(12.0, "down", 0.5), Phase(5.0, "crash", 0.5)],
    puts=[(0, 1), (1, 1)],
    redrives=[],
    fifo=True,
    batch_size=1,
    seed=0,
)
def test_every_event_ends_delivered_or_dead_with_a_reason(
    *,
    phases: list[Phase],
    puts: list[tuple[int, int]],
    redrives: list[float],
    fifo: bool,
    batch_size: int,
    seed: int,
) -> None:
    one = Delivering(phases, seed=seed, fifo=fifo, batch_size=batch_size, grain=20)
    todo: dict[float, Callable[[], None]] = {
        hour * HOUR + n: partial(one.put, *(f"{n}-{each}" for each in range(count)))
        for n, (hour, count) in enumerate(puts)
    }
    todo |= {days * DAY + 100: one.redrive for days in redrives}
    one.simulation.run(days=60, actions=todo)
    one.check()
    if not {"crash", "late"} & {phase.how for phase in phases}:
        most = 1 + len(redrives)
        assert max(one.letters().values(), default=0) <= most, "two letters for one event"
    event("dead" if one.letters() else "delivered")
