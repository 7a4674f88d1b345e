"""The events of subscriptions: pages, acknowledgements, repeats and the time they are kept."""

from typing import Any

import pytest

from bucketcast.aws.topics import stored_events
from bucketcast.aws.topics.stored_events import (
    DAY_SECONDS,
    PAGE_BYTES,
    Stored,
    StoredEvents,
)
from bucketcast.delivery.retention import LONGEST_LIFE_DAYS
from tests.unit.aws import make_table
from tests.unit.runtime_targets import Account

TABLE = "events"
SUBSCRIPTION = "acme:reader:1"


def make_events_table(dynamodb: Any) -> str:
    """Make the table as the stack does; return its name."""
    return make_table(dynamodb, TABLE, "subscription", "event")


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def events(rules_table: str, clock: Clock) -> StoredEvents:
    dynamodb = Account(rules_table).dynamodb
    return StoredEvents(make_events_table(dynamodb), dynamodb, 7, clock)


def made(*numbers: int) -> list[Stored]:
    return [Stored(f"18000{each:05}.000000.a", b'{"n": %d}' % each) for each in numbers]


def ids(*numbers: int) -> list[str]:
    return [each.id for each in made(*numbers)]


def stored(events: StoredEvents, limit: int = 100, marker: str = "") -> list[str]:
    return [each.id for each in events.page(SUBSCRIPTION, limit, marker).events]


def test_pages_in_the_order_of_ids_with_a_marker_between_them(events: StoredEvents) -> None:
    events.store([SUBSCRIPTION, "acme:other:1"], made(*reversed(range(250))))
    page = events.page(SUBSCRIPTION, 100)
    assert page.events == made(*range(100))
    assert page.marker == made(99)[0].id
    assert stored(events, 1_000, page.marker) == ids(*range(100, 250))
    assert events.page(SUBSCRIPTION, 250).marker == ""
    assert events.count(SUBSCRIPTION) == 250


def test_what_is_acknowledged_is_gone_and_stays_gone_when_it_comes_again(
    events: StoredEvents,
) -> None:
    events.store([SUBSCRIPTION, "acme:other:1"], made(1, 2, 3))
    assert events.acknowledge(SUBSCRIPTION, ids(2)[0])
    assert not events.acknowledge(SUBSCRIPTION, ids(2)[0])
    events.store([SUBSCRIPTION], made(1, 2, 3))
    assert stored(events) == ids(1, 3)
    assert len(events.page("acme:other:1", 10).events) == 3


def test_an_event_is_not_acknowledged_before_it_is_stored(events: StoredEvents) -> None:
    assert not events.acknowledge(SUBSCRIPTION, ids(1)[0])
    events.store([SUBSCRIPTION], made(1))
    assert stored(events) == ids(1)


def test_an_acknowledgement_killed_halfway_is_complete(
    events: StoredEvents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row is still there: it is hidden, and costs nothing but its space."""
    events.store([SUBSCRIPTION], made(1, 2))

    def killed(**_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(events._client, "delete_item", killed)
        with pytest.raises(KeyboardInterrupt):
            events.acknowledge(SUBSCRIPTION, ids(1)[0])
    assert stored(events) == ids(2)


def test_what_is_expired_is_not_shown_though_dynamodb_has_it_still(
    events: StoredEvents, clock: Clock
) -> None:
    events.store([SUBSCRIPTION], made(1))
    clock.now += 7 * DAY_SECONDS - 1
    events.store([SUBSCRIPTION], made(2))
    assert stored(events) == ids(1, 2)
    clock.now += 1
    assert stored(events) == ids(2)
    assert events.count(SUBSCRIPTION) == 1


def test_an_acknowledgement_outlives_every_repeat(events: StoredEvents, clock: Clock) -> None:
    """A repeat that was redriven as often as may be is kept for 7 days then."""
    events.store([SUBSCRIPTION], made(1))
    events.acknowledge(SUBSCRIPTION, ids(1)[0])
    clock.now += LONGEST_LIFE_DAYS * DAY_SECONDS
    events.store([SUBSCRIPTION], made(1))
    assert stored(events) == []
    rows = events._client.scan(TableName=TABLE)["Items"]
    expiries = {row["subscription"]["S"]: int(row["expires"]["N"]) for row in rows}
    assert expiries[f"{SUBSCRIPTION}#acknowledged"] >= expiries[SUBSCRIPTION]


def test_a_page_is_no_larger_than_a_function_may_answer(events: StoredEvents) -> None:
    large = [Stored(each.id, b"x" * 300_000) for each in made(*range(20))]
    events.store([SUBSCRIPTION], large)
    page = events.page(SUBSCRIPTION, 1_000)
    assert 0 < sum(len(each.record) for each in page.events) <= PAGE_BYTES
    rest = events.page(SUBSCRIPTION, 1_000, page.marker)
    assert len(page.events) + len(rest.events) == 20


def test_what_is_hidden_is_not_counted_as_waiting(events: StoredEvents) -> None:
    events.store([SUBSCRIPTION], made(1, 2, 3))
    events.acknowledge(SUBSCRIPTION, ids(2)[0])
    events.store([SUBSCRIPTION], made(2))
    assert events.count(SUBSCRIPTION) == 2


def test_many_rows_that_are_expired_take_few_calls_and_end_a_page(
    events: StoredEvents, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DynamoDB removes them up to days late."""
    monkeypatch.setattr(stored_events, "_MOST_HIDDEN", 100)
    events.store([SUBSCRIPTION], made(*range(200)))
    clock.now += 7 * DAY_SECONDS
    events.store([SUBSCRIPTION], made(300))
    calls, marker, pages = 0, "", 0
    query = events._client.query

    def counted(**parameters: Any) -> Any:
        nonlocal calls
        calls += 1
        return query(**parameters)

    monkeypatch.setattr(events._client, "query", counted)
    while True:
        page = events.page(SUBSCRIPTION, 1, marker)
        pages += 1
        if page.events:
            break
        assert page.marker > marker
        marker = page.marker
    assert page.events == made(300)
    assert pages == 2
    assert calls < 20


def test_throttled_events_are_reported_and_stored_ones_not_repeated(
    events: StoredEvents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first call is taken in part, later ones not at all, as with a partition that is hot."""
    monkeypatch.setattr(stored_events, "_PAUSE_SECONDS", 0)
    write, calls = events._client.batch_write_item, 0
    busy = events._client.exceptions.ProvisionedThroughputExceededException

    def throttled(RequestItems: Any) -> Any:  # noqa: N803 - boto3's name
        nonlocal calls
        calls += 1
        requests = RequestItems[TABLE]
        if calls > 2:
            raise busy({"Error": {"Code": "", "Message": ""}}, "BatchWriteItem")
        write(RequestItems={TABLE: requests[:20]})
        return {"UnprocessedItems": {TABLE: requests[20:]} if requests[20:] else {}}

    monkeypatch.setattr(events._client, "batch_write_item", throttled)
    left = events.store([SUBSCRIPTION, "acme:other:1"], made(*range(30)))
    assert left == set(ids(*range(12, 30)))
    assert [each.id for each in events.page("acme:other:1", 100).events] == ids(*range(12))


def test_what_takes_too_long_is_left_for_another_attempt(
    events: StoredEvents, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = events._client.batch_write_item

    def slow(**parameters: Any) -> Any:
        clock.now += 10
        return write(**parameters)

    monkeypatch.setattr(events._client, "batch_write_item", slow)
    left = events.store([SUBSCRIPTION], made(*range(100)))
    assert left == set(ids(*range(50, 100)))
    assert stored(events) == ids(*range(50))
