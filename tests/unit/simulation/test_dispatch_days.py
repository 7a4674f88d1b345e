"""A target in trouble for hours or a day: whom it delays, what it costs, and that all arrives."""

from collections.abc import Callable
from functools import partial
from itertools import count
from random import Random
from zlib import crc32

import pytest
from botocore.exceptions import ConnectTimeoutError

from bucketcast.delivery.breaker import Outage
from tests.unit.simulation.delivering import Delivering, Phase, Scripted
from tests.unit.simulation.sqs import DAY, HOUR, MINUTE


def test_events_that_one_target_does_not_take_delay_none_of_its_others() -> None:
    """In flight they filled the queue within hours: 12 here stand for SQS's 120,000."""
    one = Delivering([Phase(30, "moody")], workers=4, grain=0.1, in_flight_limit=12)
    keys = [f"{second}" for second in range(0, 2 * HOUR, 100)]
    one.simulation.run(days=2.1 / 24, actions={int(key): partial(one.put, key) for key in keys})
    well = [name for name in one.sent if not crc32(name.encode()) & 1]
    assert len(one.queue.messages) > 12
    assert one.delays(well).p99 <= 5


def test_a_database_gets_no_more_than_it_takes_within_its_time_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same thousand were tried for 13 days, and dead-lettered."""
    monkeypatch.setattr(Scripted, "first_alone", False)  # as of a mirror
    one = Delivering([Phase(30, "weak")], workers=4)
    for number in range(20):
        one.put(*(f"{number}-{each}" for each in range(1_000)))
    one.simulation.run(days=1)
    one.check()
    assert set(one.target.taken) == set(one.sent)
    assert not one.dead.arrived
    assert one.target.sends <= 60, "40 batches of 500, and as few that were too large"


@pytest.mark.parametrize("hours", [8, 41])
def test_a_pause_in_order_is_over_within_the_longest_pause(hours: int) -> None:
    """After so long, each look at what waited came up to 38 minutes later."""
    one = Delivering([Phase(30, "up")], fifo=True)
    now = round(one.simulation.clock.now * 1_000)
    one.set_outage(Outage(0, 0, paused=now))
    one.put("before")
    later: dict[float, Callable[[], None]] = {
        hours * HOUR: lambda: one.put("while"),
        hours * HOUR + MINUTE: one.set_outage,
    }
    one.simulation.run(days=1_500 / DAY + (hours + 0.1) / 24, actions=later)
    one.check()
    assert set(one.target.taken) == set(one.sent)


@pytest.mark.parametrize("number", [1, 40])
def test_tries_without_a_pause_are_one_a_second(number: int) -> None:
    """Each call sent all of it again at once: half a million calls a day for one event."""
    one = Delivering([Phase(30, "down")], workers=4, grain=0.05, pause=0)
    for each in range(number):
        one.put(f"{each}")
    one.simulation.run(days=10 * MINUTE / DAY)
    assert one.target.sends <= 10 * MINUTE + number
    assert one.function.calls <= 10 * MINUTE + 10 * number


def test_events_with_limits_are_tried_after_a_pause_of_days() -> None:
    """One in 500 was dead-lettered untried, when it had been received for the 500th time."""
    one = Delivering([Phase(30, "up")], workers=1, retries=3)
    now = round(one.simulation.clock.now * 1_000)
    one.set_outage(Outage(0, 0, paused=now))
    for key in "abc":
        one.put(key)
    one.simulation.run(days=2.001, actions={2 * DAY: one.set_outage})
    one.check()
    assert set(one.target.taken) == set(one.sent)
    assert not one.dead.arrived


def test_merged_events_that_sqs_took_are_there_once() -> None:
    """Where one part of it was refused, the messages of all its parts stayed."""
    one = Delivering([Phase(1 / DAY, "busy"), Phase(30, "up")], workers=1, grain=1)
    random = Random(0)  # noqa: S311 - what does not compress
    for key in "abcdefghi":
        one.put(key, record=b'"%s"' % random.randbytes(200_000).hex().encode())
    sent = count()
    lost = ConnectTimeoutError(endpoint_url="https://sqs")
    one.simulation.sqs.trouble = lambda operation: (
        lost if operation == "SendMessageBatch" and next(sent) == 1 else None
    )
    one.simulation.run(days=1)
    one.check()
    assert next(sent) > 2, "more than one call, of which the second failed"
    assert set(one.target.taken.values()) == {1}
