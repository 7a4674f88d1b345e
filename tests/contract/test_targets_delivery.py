"""Every target without faults: all events arrive as MinIO writes them."""

import json

import pytest

from bucketcast.errors import Rejected, Retryable
from bucketcast.event import Event
from bucketcast.shapes import minio
from tests.contract.case import (
    ONE_BY_ONE,
    Case,
    event,
    events,
    layouts,
    path_of,
    record_of,
)


def various_events() -> list[Event]:
    """Events that differ in what they say of the object."""
    return [
        event("photos/a b.jpg", 1, version_id="v1", principal="AWS:ü", region="eu-central-1"),
        event("empty", 2, size=0, etag=None),
        event("owned", 3, owner='o"\\', source_ip="10.0.0.1", request_id="R", host_id="H"),
    ]


def test_bodies_arrive_byte_for_byte(case: Case) -> None:
    for event_ in various_events():
        assert case.sender().send([event_]) == {}
    bodies = [arrival.body for arrival in case.arrivals()]
    assert sorted(bodies) == sorted(as_written(case, event_) for event_ in various_events())


def as_written(case: Case, event_: Event) -> bytes:
    """MinIO's body; the format `access` has the time in it where there is no column for it."""
    body = case.expected(event_)
    has_column = any(arrival.time for arrival in case.arrivals())
    if case.layout.format == "access" and not has_column:
        return b'["%b",%b]' % (event_.time.encode(), body)
    return body


def test_access_stores_the_time_too(log: Case) -> None:
    event_ = event("a", 61_003)
    assert log.sender().send([event_]) == {}
    (arrival,) = log.arrivals()
    if log.layout.format == "access":
        assert (arrival.time or json.loads(arrival.body)[0])[:23] == event_.time[:23]
    else:
        assert json.loads(arrival.body)["Key"] == minio.path(event_)


def test_ten_arrive_in_their_order(log: Case) -> None:
    batch = [event(f"{7 * at % 10}", at) for at in range(1, 11)]
    sender = log.sender(log.supported(ONE_BY_ONE))
    assert sender.send(batch) == {}
    assert sender.send([event("last", 11)]) == {}
    assert log.paths() == [*map(minio.path, batch), "uploads/last"]


def test_nothing_is_sent_for_an_empty_batch(case: Case) -> None:
    assert case.sender().send([]) == {}
    assert case.arrivals() == []


def test_the_largest_batch_arrives_once(case: Case) -> None:
    batch = events(case.kind.batch_size)
    assert case.sender().send(batch) == {}
    assert sorted(case.paths()) == [minio.path(put) for put in batch]


def test_a_repeated_delivery_is_no_error(case: Case) -> None:
    batch, sender = events(3), case.sender()
    for _ in range(3):
        assert sender.send(batch) == {}
    assert sender.send([*batch, *batch]) == {}
    times = 1 if case.layout.mirrors else 5
    assert sorted(case.paths()) == sorted(times * [minio.path(each) for each in batch])


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(event("odd", 2, principal="p" * 900_000), id="large"),
        pytest.param(event("k" * 20_000, 2), id="long key"),
        pytest.param(event("".join(chr(0x4E00 + at) for at in range(9_000)), 2), id="wide key"),
        pytest.param(event("nul\0", 2), id="NUL in the key"),
        pytest.param(event("odd", 2, etag="nul\0"), id="NUL beside it"),
        pytest.param(event("odd", 2, etag=""), id="no eTag"),
    ],
)
def test_an_odd_event_arrives_complete_or_fails_alone(case: Case, odd: Event) -> None:
    before, after = events(3, "before"), events(3, "later")
    failures = case.sender().send([*before, odd, *after])
    assert failures.keys() <= {3}
    assert all(error.alone or isinstance(error, Rejected) for error in failures.values())
    expected = [*before, *after] if failures else [*before, odd, *after]
    assert {path_of(arrival): record_of(arrival.body) for arrival in case.arrivals()} == {
        minio.path(each): record_of(minio.records(each)) for each in expected
    }


def test_close_can_be_called_at_any_time(case: Case) -> None:
    sender = case.sender()
    sender.close()
    for event_ in events(2):
        assert sender.send([event_]) == {}
        sender.close()
        sender.close()
    assert len(case.arrivals()) == 2


def test_a_probe_leaves_nothing_behind(case: Case) -> None:
    sender = case.sender()
    assert sender.probe() is None
    assert case.arrivals() == []
    assert sender.send(events(2)) == {}
    assert sender.probe() is None
    assert case.sender().probe() is None
    assert len(case.arrivals()) == 2


def test_another_format_at_the_same_destination_is_refused(formatted: Case) -> None:
    assert formatted.sender().send(events(2)) == {}
    before = formatted.arrivals()
    for other in layouts(formatted.layout.kind):
        if other.format != formatted.layout.format:
            sender = formatted.sender(format=other.format)
            for error in (sender.refusal(events(3)), sender.probe()):
                assert isinstance(error, Retryable)
                assert "another" in str(error)
    assert formatted.arrivals() == before


def test_where_contains_the_destination(case: Case) -> None:
    where = case.sender().target.where
    assert case.server.address in where
    assert case.server.destination in where
