"""Deliveries late, twice and out of order: the mirrors end like the bucket all the same."""

import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bucketcast.event import Event
from bucketcast.sources import events
from tests.contract.oracle import visible
from tests.e2e import arrivals
from tests.e2e.arrivals import Row
from tests.e2e.records import message, record
from tests.e2e.system import System

EVENTS = 2_000
KEYS = 50
NAMES = (
    "ObjectCreated:Put",
    "ObjectCreated:Put",
    "ObjectCreated:Copy",
    "ObjectCreated:CompleteMultipartUpload",
    "ObjectRemoved:Delete",
    "ObjectRemoved:Delete",
)
SENDERS = 4
DELIVERED_SECONDS = 120.0


def history(prefix: str, chance: random.Random) -> list[Any]:
    """Records of what happened, in its order."""
    keys = [f"{prefix}{number:02} +%ü.jpg" for number in range(KEYS)]
    return [
        record(chance.choice(keys), number, name=chance.choice(NAMES)) for number in range(EVENTS)
    ]


def deliveries(records: Sequence[Any], chance: random.Random) -> list[str]:
    """Each record twice, shuffled, most messages of one record and some of several."""
    twice = [*records, *records]
    chance.shuffle(twice)
    return list(_messages(twice, chance))


def _messages(records: list[Any], chance: random.Random) -> Iterator[str]:
    while records:
        count = chance.choice((1, 1, 1, 2, 7))
        yield message(*records[:count])
        del records[:count]


def test_mirrors_equal_the_bucket_after_shuffled_repeated_events(
    system: System, prefix: str, rule: Callable[..., None]
) -> None:
    rule("postgres.mirror", "redis.mirror", "postgres.log")
    chance = random.Random(20260102)  # noqa: S311 - the same run every time
    records = history(prefix, chance)
    bodies = deliveries(records, chance)
    with ThreadPoolExecutor(SENDERS) as senders:
        parts = [bodies[start::SENDERS] for start in range(SENDERS)]
        list(senders.map(lambda part: system.send(system.ingress, part), parts))

    happened = events(message(*records))
    wanted = as_row(happened)
    assert 10 < len(wanted) < KEYS
    here = f"uploads/{prefix}"
    system.until(
        "no message waits", system.depths, lambda depths: not depths, within=DELIVERED_SECONDS
    )
    assert arrivals.table(system, here) == wanted
    assert arrivals.fields(system, here) == wanted
    logged = arrivals.table_log(system, here)
    assert len(logged) >= 2 * EVENTS
    assert set(logged) == {(f"uploads/{each.key}", each.sequencer) for each in happened}


def as_row(happened: Sequence[Event]) -> dict[str, Row]:
    """What the oracle says that the mirrors show."""
    return {key: Row(*row) for key, row in visible(happened).items()}


def test_late_deliveries_one_by_one_change_nothing(
    system: System, prefix: str, rule: Callable[..., None]
) -> None:
    """No batch to fold them in: each comes when the one before is through."""
    rule("postgres.mirror", "redis.mirror")
    kept, gone = f"{prefix}kept.jpg", f"{prefix}gone.jpg"
    late = [
        record(kept, 9),
        record(kept, 5, name="ObjectRemoved:Delete"),
        record(kept, 3),
        record(gone, 8, name="ObjectRemoved:Delete"),
        record(gone, 7),
        record(f"{prefix}never.jpg", 6, name="ObjectRemoved:Delete"),
    ]
    for each in late:
        system.send(system.ingress, [message(each)])
        system.until_settled()
    newest = Row("s3:ObjectCreated:Put", 9, f"{9:032x}", late[0]["s3"]["object"]["sequencer"])
    for look in (arrivals.table, arrivals.fields):
        assert look(system, f"uploads/{prefix}") == {f"uploads/{kept}": newest}
