"""What becomes of each event of a batch: row by row of the table in `delivery.engine`."""

from collections.abc import Sequence
from itertools import product

import pytest

from bucketcast.delivery.engine import Engine
from bucketcast.delivery.messages import Batch, Item, Result
from bucketcast.delivery.policy import Policy
from bucketcast.delivery.sender import Absent
from bucketcast.delivery.tracing import Outcomes
from bucketcast.errors import BreakerOpen, DeliveryError, OutOfTime, Paused, Waiting, name_of
from bucketcast.limits import FIRST_HEARTBEAT_SECONDS
from tests.unit.delivery.bench import (
    AT_ITS_END,
    BUSY,
    GONE,
    IN_ORDER,
    NOW,
    Bench,
    counts,
    everything,
    failed,
    message,
    only,
)


def test_age_of_the_oldest_is_reported() -> None:
    bench = Bench()
    assert bench().oldest == 0
    outcome = bench(
        message("1", "a", sent=NOW - 3_000), message("2", "b", failed(since=NOW - 9_000))
    )
    assert outcome.oldest == 9.0


def test_only_what_was_received_before_is_kept_in_flight_at_once() -> None:
    bench = Bench()
    bench(message("1", "a"))
    bench(message("2", "b"), message("3", "c", receives=2))
    assert bench.queue.first_beats == [FIRST_HEARTBEAT_SECONDS, 0]


class Fails(Absent):
    """A work of which nothing is done, for this reason."""

    def __init__(self, error: DeliveryError, *, begins: bool) -> None:
        super().__init__(str(error))
        self._obstacle = error if isinstance(error, Waiting) and not begins else None
        self._error = error

    def begin_batch(self, policy: Policy) -> Waiting | None:  # noqa: ARG002
        return self._obstacle

    def __call__(self, items: Sequence[Item], batch: Batch) -> Result:  # noqa: ARG002
        return Result([item.fail(self._error) for item in items])


WAYS = [BUSY, GONE, OutOfTime("-"), Waiting("-"), BreakerOpen("-", 1, "X"), Paused(1, 1)]


@pytest.mark.parametrize("begins", [True, False])
@pytest.mark.parametrize(
    "ways", [*product(WAYS, repeat=2)], ids=lambda ways: "-".join(map(name_of, ways))
)
def test_what_comes_back_in_whatever_ways_is_as_old_as_before(
    ways: tuple[DeliveryError, ...],
    begins: bool,  # noqa: FBT001 - a case
) -> None:
    bench, waiting = Bench(), [message("1", "a", sent=NOW - 60_000)]
    for step, way in enumerate((*ways, BUSY)):
        bench.engine, now = Engine(bench.queue, Fails(way, begins=begins)), NOW + 60_000 * step
        assert bench(*waiting, now=now).oldest == 60.0 * (step + 1)
        waiting = bench.again(sent=now)


# Out of time


def test_in_order_events_out_of_time_come_back_at_once() -> None:
    """The target takes events: were they hidden for longer, a long queue would never be done."""
    bench = Bench(policy=IN_ORDER, chunk_bytes=4)
    messages = [message(key, key, sent=NOW - 7_200_000) for key in "abcd"]
    outcome = bench(*messages, remaining=[60, 60, 1.0])
    assert (bench.target.batches, outcome.stay) == ([["a"]], ["b", "c", "d"])
    assert {*bench.queue.pauses.values()} == {0}


# In order


def test_in_order_an_untried_message_is_dead_lettered_alone() -> None:
    """None is tried beside it: if that crashed the function, it would not be deleted."""
    bench = Bench(everything(GONE), IN_ORDER)
    bench(message("1", "a"))
    outcome = bench(message("2", "b", sent=AT_ITS_END), message("3", "c", sent=AT_ITS_END))
    assert (bench.target.batches, counts(outcome), outcome.stay) == ([["a"]], (0, 0, 1), ["3"])
    assert bench.queue.reasons[0].startswith("it waited behind events that the target did")


# In chunks


def test_progress_is_reported_per_chunk() -> None:
    bench = Bench(only({"a": BUSY}), chunk_bytes=1)
    seen: list[Outcomes] = []
    bench(message("1", "ab"), message("2", "c"), on_outcomes=seen.append)
    done = [outcomes.delivered.get(1, ()) for outcomes in seen]
    assert [[event.key for event in events] for events in done] == [["b"], ["c"], []]
    failed = [outcomes.retried.get(("answer", "busy"), ()) for outcomes in seen]
    numbers = [[(one.event.key, one.number) for one in tries] for tries in failed]
    assert numbers == [[("a", 1)], [], []]


def test_ten_thousand_messages_that_wait_become_a_few() -> None:
    bench = Bench(everything(BUSY))
    outcome = bench(*(message(f"{n}", [f"{n}"]) for n in range(10_000)))
    assert (outcome.stay, sum(map(len, bench.queue.back))) == ([], 10_000)
    assert len(bench.queue.sent) == 10


def test_copies_of_one_event_are_sent_back_once() -> None:
    """Else each lost answer of SQS's doubled them."""
    bench = Bench(everything(BUSY))
    outcome = bench(
        message("1", "ab"),
        message("1", "ab"),
        message("2", "a"),
        message("3", "a", created=7),
        message("4", "b", failed(3)),
    )
    assert (outcome.stay, sorted(bench.queue.back)) == ([], [["a", "a"], ["b"]])
    assert [sent.history.tries for sent in bench.queue.sent] == [1, 4], "the most tried is left"
    bench.queue.full = True
    assert bench(message("1", "a"), message("2", "a")).stay == ["1"]
