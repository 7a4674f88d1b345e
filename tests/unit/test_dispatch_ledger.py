"""What a batch counts: whatever happens to a message, the sum adds up in the end."""

from typing import Any

import msgspec
import pytest

from bucketcast.delivery.envelope import Envelope, unpack
from bucketcast.delivery.retention import DAY_MS
from bucketcast.delivery.retries import TERM_MS
from bucketcast.dispatch.ledger import HOUR_MS, HourTotals
from bucketcast.dispatch.outcome import Outcome
from bucketcast.errors import NotConnected, Rejected, Retryable
from tests.unit.test_dispatch import NOW, Bench, everything, message, only

HOUR = (NOW - 1_000) // HOUR_MS


def entry(outcome: Outcome) -> tuple[int, int, int]:
    """Received, delivered, dead."""
    (found,) = outcome.ledger.values()
    return found.received, found.delivered, found.dead


def test_what_is_delivered_or_dead_was_received() -> None:
    outcome = Bench(only({"b": Rejected("no")}))(message("1", "abc"))
    assert outcome.ledger == {HOUR: HourTotals(3, 2, 1)}


def test_events_count_in_the_hour_in_which_they_came() -> None:
    early = message("1", "ab", created=NOW - 5 * HOUR_MS)
    outcome = Bench(only({}))(early, message("2", "c"))
    assert outcome.ledger == {NOW // HOUR_MS - 5: HourTotals(2, 2, 0), HOUR: HourTotals(1, 1, 0)}


def test_what_goes_back_was_received_and_is_not_counted_again() -> None:
    bench = Bench(only({"b": Retryable("busy"), "c": Rejected("no")}))
    assert entry(bench(message("1", "abc"))) == (3, 1, 1)
    assert bench.queue.histories[0].counted
    again = Bench(only({}))(message("2", "b", reason="busy", attempts=1))
    assert entry(again) == (0, 1, 0)


@pytest.mark.parametrize("more", [{"in_order": True}, {"full": True}])
def test_nothing_is_counted_of_a_message_that_stays(more: dict[str, Any]) -> None:
    bench = Bench(everything(Retryable("busy")), **more)
    outcome = bench(message("1", "ab"))
    assert (outcome.stay, outcome.ledger) == (["1"], {})


def test_a_message_whose_rest_cannot_go_back_counts_when_it_leaves() -> None:
    """Its delivered events come again with it."""
    outcome = Bench(only({"b": Retryable("busy")}), full=True)(message("1", "ab"))
    assert (outcome.delivered, outcome.ledger) == (1, {})


def test_what_waits_for_a_silent_target_is_counted_once() -> None:
    bench = Bench(everything(NotConnected("no answer")))
    assert entry(bench(message("1", "a"))) == (1, 0, 0)
    assert entry(bench(message("2", "b"), message("3", "c", reason="silent"))) == (1, 0, 0)
    full = message("4", [f"{n}" for n in range(600)])
    assert entry(bench(full)) == (600, 0, 0), "opened once, to be counted"
    assert bench(message("5", "d", reason="silent")).ledger == {}


def test_what_is_given_up_or_no_envelope_is_dead() -> None:
    bench = Bench(only({}))
    old = {"since": NOW - 14 * 24 * HOUR_MS, "sent": NOW - 1_000, "attempts": 3}
    (found,) = bench(message("1", "ab", reason="busy", **old)).ledger.values()
    assert found == HourTotals(0, 0, 2)
    broken = message("2", "a")._replace(body="{}")
    assert entry(bench(broken._replace(body="nothing"))) == (1, 0, 1)


def test_what_ingest_counted_and_nobody_tried_in_order_is_dead_in_its_own_hour() -> None:
    """It waited in the ingress queue before it came to this one."""
    old = NOW - TERM_MS - DAY_MS * 3 // 4
    plain = message("1", "a", sent=old, created=old - 5 * HOUR_MS)
    body = Envelope(old, counted=True, events=unpack(plain.body)[1])
    limited = plain._replace(body=msgspec.json.encode(body).decode())
    bench = Bench(only({}), in_order=True)
    outcome = bench(limited)
    assert outcome.ledger == {old // HOUR_MS - 5: HourTotals(0, 0, 1)}
    assert [each.delivery.event.key for each in bench.queue.dead] == ["a"]
