"""A batch of more events than are opened at once."""

from base64 import b64encode

import pytest

from bucketcast.delivery.envelope import MAX_UNPACKED, zstd
from bucketcast.delivery.tracing import Outcomes
from bucketcast.dispatch import Message
from bucketcast.dispatch.chunks import MAX_EVENTS_A_CHUNK
from bucketcast.errors import NotConnected, Throttled
from tests.unit.test_dispatch import NOW, Bench, counts, everything, message, only

EACH = 1_000
FULL = MAX_EVENTS_A_CHUNK // EACH
"""How many messages of so many events make a chunk."""


def messages(number: int) -> list[Message]:
    return [
        message(f"{n}", [f"{n}/{index}" for index in range(EACH)], reason="before")
        for n in range(number)
    ]


def test_all_portions_are_sent_in_their_order() -> None:
    bench = Bench(only({}))
    outcome = bench(*messages(2 * FULL + 1))
    assert (outcome.stay, counts(outcome)) == ([], ((2 * FULL + 1) * EACH, 0, 0))
    assert [batch[0] for batch in bench.target.batches] == [f"{n}/0" for n in range(2 * FULL + 1)]


def test_progress_is_reported_per_chunk() -> None:
    bench = Bench(only({"0/3": Throttled("slow", 9)}))
    outcomes_seen: list[Outcomes] = []
    bench.dispatcher(
        messages(FULL + 1), now=NOW, remaining=lambda: 900.0, on_outcomes=outcomes_seen.append
    )
    assert [len(outcomes.delivered) for outcomes in outcomes_seen if outcomes.delivered] == [
        MAX_EVENTS_A_CHUNK - 1,
        EACH,
    ]
    assert [
        event.key for outcomes in outcomes_seen for event in outcomes.retried.get("slow", ())
    ] == ["0/3"]


def test_what_is_behind_a_target_that_is_gone_stays_unopened() -> None:
    bench = Bench(everything(NotConnected("refused")))
    broken = Message("broken", "r", "rubbish", NOW, 1)
    outcome = bench(*messages(FULL + 2), broken)
    assert len(bench.target.batches) == 1
    assert outcome.stay == [str(FULL), str(FULL + 1)]
    assert sum(len(keys) for keys, *_ in bench.queue.back) == FULL * EACH
    assert counts(outcome) == (0, (FULL + 2) * EACH, 1)
    assert [name for name, _ in bench.queue.dead_messages] == ["broken"]
    assert all(pause >= 1 for pause in bench.queue.pauses.values())
    assert len(bench.queue.pauses) == 2


def test_portion_for_which_there_is_no_time_stays_without_a_pause() -> None:
    bench = Bench(only({}))
    plenty = [900.0] * (FULL + 1)
    outcome = bench(*messages(FULL + 2), left=[*plenty, 44.9])
    assert len(bench.target.batches) == FULL
    assert outcome.stay == [str(FULL), str(FULL + 1)]
    assert counts(outcome) == (FULL * EACH, 2 * EACH, 0)
    assert bench.queue.pauses == {f"receipt of {FULL}": 0, f"receipt of {FULL + 1}": 0}


@pytest.mark.parametrize("size", [MAX_UNPACKED + 1, 20 * MAX_UNPACKED])
def test_message_that_unpacks_to_too_much_is_buried_with_the_reason(size: int) -> None:
    packed = b64encode(zstd.compress(b" " * size)).decode()
    bomb = Message("bomb", "r", f'{{"since": 1, "count": 1, "zstd": "{packed}"}}', NOW, 1)
    bench = Bench(only({}))
    outcome = bench(message("1", "a"), bomb, message("2", "b"))
    assert (outcome.stay, counts(outcome)) == ([], (2, 0, 1))
    assert bench.queue.dead_messages == [
        ("bomb", "it unpacks to more than 32 MiB, which is not opened")
    ]
