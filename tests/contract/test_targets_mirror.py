"""What every target promises that keeps a row an object: it shows the bucket."""

import random
from collections.abc import Iterable

from bucketcast.shapes import minio
from tests.contract.oracle import Row, visible
from tests.contract.trial import DELETE, UNUSUAL_KEYS, Trial, event, events, recorded
from tests.servers import Arrival

TAGGED = "s3:ObjectCreated:PutTagging"
OLDEST = "0" * 16


def test_ten_arrive_under_their_keys(mirror: Trial) -> None:
    batch = events(10)
    assert mirror.sender().send(batch) == {}
    assert [arrival.key for arrival in mirror.arrivals()] == [minio.path(each) for each in batch]
    assert mirror.paths() == [minio.path(each) for each in batch]


def test_unusual_keys_are_deleted_too(mirror: Trial) -> None:
    sender = mirror.sender()
    assert sender.send([event(key, at) for at, key in enumerate(UNUSUAL_KEYS, 1)]) == {}
    gone = [event(key, at, DELETE) for at, key in enumerate(UNUSUAL_KEYS[1:], 100)]
    assert sender.send(gone) == {}
    assert mirror.paths() == [f"uploads/{UNUSUAL_KEYS[0]}"]


def test_a_row_is_changed_and_deleted_with_its_object(mirror: Trial) -> None:
    sender = mirror.sender()
    assert sender.send([event("a", 1), event("b", 1)]) == {}
    assert sender.send([event("a", 2, size=22)]) == {}
    assert rows(mirror.arrivals()) == visible([event("a", 2, size=22), event("b", 1)])
    assert sender.send([event("a", 3, DELETE), event("never", 3, DELETE)]) == {}
    assert set(rows(mirror.arrivals())) == {"uploads/b"}
    assert sender.send([event("a", 4)]) == {}
    assert set(rows(mirror.arrivals())) == {"uploads/a", "uploads/b"}


def test_an_older_event_changes_nothing(mirror: Trial) -> None:
    sender = mirror.sender()
    assert sender.send([event("a", 5), event("b", 5), event("b", 7, DELETE)]) == {}
    for late in (event("a", 3), event("a", 4, DELETE), event("b", 6)):
        assert sender.send([late]) == {}
    assert rows(mirror.arrivals()) == visible([event("a", 5)])


def test_shuffled_and_doubled_the_mirror_is_the_bucket(mirror: Trial) -> None:
    source = random.Random(3)  # noqa: S311 - a shuffle
    history = []
    for at in range(1, 501):
        name = source.choice(("", "", DELETE, TAGGED))
        key = f"k{source.randrange(30)}"
        without = {"sequencer": "", "size": None, "etag": None} if name == TAGGED else {}
        history.append(event(key, at, name, **without) if name else event(key, at))
    stream = source.sample([*history, *history], 1000)
    senders = [mirror.sender(), mirror.sender()]
    for start in range(0, 1000, 37):
        assert senders[start % 2].send(stream[start : start + 37]) == {}
    assert rows(mirror.arrivals()) == visible(history)


def test_made_up_events_of_a_backfill_lose_against_real_ones(mirror: Trial) -> None:
    """Their sequencer is 0; objects of which nothing real is heard appear."""
    source = random.Random(5)  # noqa: S311 - a shuffle
    keys = [f"k{number}" for number in range(30)]
    real = [
        event(source.choice(keys[:20]), at, source.choice(("s3:ObjectCreated:Put", DELETE)))
        for at in range(1, 61)
    ]
    made_up = [event(key, at, sequencer=OLDEST) for at, key in enumerate(keys, 90)]
    stream = source.sample([*real, *made_up, *made_up], 120)
    sender = mirror.sender()
    for start in range(0, 120, 17):
        assert sender.send(stream[start : start + 17]) == {}
    touched = {each.key for each in real}
    alone = [each for each in made_up if each.key not in touched]
    assert rows(mirror.arrivals()) == visible([*real, *alone])


def rows(arrivals: Iterable[Arrival]) -> dict[str, Row]:
    """What a mirror shows, in the oracle's words."""
    seen = {}
    for arrival in arrivals:
        record = recorded(arrival.body)
        held = record["s3"]["object"]
        seen[arrival.key] = Row(
            record["eventName"], held.get("size", 0), held.get("eTag", ""), held["sequencer"]
        )
    return seen
