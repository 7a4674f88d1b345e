"""What every target promises while nothing goes wrong: all arrives, and as MinIO writes it."""

import json
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote_plus

import pytest

from bucketcast.errors import Rejected, Retryable
from bucketcast.event import Event
from bucketcast.shapes import minio
from tests.contract.trial import (
    ONE_BY_ONE,
    UNUSUAL_KEYS,
    Trial,
    event,
    events,
    layouts,
    path_of,
    recorded,
)


def of_each_sort() -> list[Event]:
    """Events that differ in what they say of the object."""
    return [
        event("photos/a b.jpg", 1, version_id="v1", principal="AWS:ü", region="eu-central-1"),
        event("empty", 2, size=0, etag=None),
        event("owned", 3, owner='o"\\', source_ip="10.0.0.1", request_id="R", host_id="H"),
    ]


def test_bodies_arrive_byte_for_byte(trial: Trial) -> None:
    for one in of_each_sort():
        assert trial.sender().send([one]) == {}
    bodies = [arrival.body for arrival in trial.arrivals()]
    assert sorted(bodies) == sorted(as_written(trial, one) for one in of_each_sort())


def as_written(trial: Trial, one: Event) -> bytes:
    """MinIO's body; the format `access` has the time in it where there is no column for it."""
    body = trial.expected(one)
    beside = any(arrival.time for arrival in trial.arrivals())
    if trial.layout.format == "access" and not beside:
        return b'["%b",%b]' % (one.time.encode(), body)
    return body


def test_bodies_equal_minios(trial: Trial) -> None:
    assert trial.sender().send(of_each_sort()) == {}
    bodies = {path_of(arrival): json.loads(arrival.body) for arrival in trial.arrivals()}
    assert bodies == {minio.path(one): json.loads(as_written(trial, one)) for one in of_each_sort()}


def test_access_has_the_time_beside_it(log: Trial) -> None:
    one = event("a", 61_003)
    assert log.sender().send([one]) == {}
    (arrival,) = log.arrivals()
    if log.layout.format == "access":
        assert (arrival.time or json.loads(arrival.body)[0])[:23] == one.time[:23]
    else:
        assert json.loads(arrival.body)["Key"] == minio.path(one)


def test_ten_arrive_in_their_order(log: Trial) -> None:
    batch = [event(f"{7 * at % 10}", at) for at in range(1, 11)]
    sender = log.sender(log.supported(ONE_BY_ONE))
    assert sender.send(batch) == {}
    assert sender.send([event("last", 11)]) == {}
    assert log.paths() == [*map(minio.path, batch), "uploads/last"]


def test_nothing_is_sent_for_an_empty_batch(trial: Trial) -> None:
    assert trial.sender().send([]) == {}
    assert trial.arrivals() == []


def test_a_thousand_arrive_once(trial: Trial) -> None:
    batch = events(1000)
    sender, most = trial.sender(), trial.kind.batch_size
    for start in range(0, len(batch), most):
        assert sender.send(batch[start : start + most]) == {}
    assert sorted(trial.paths()) == [minio.path(each) for each in batch]


def test_the_largest_batch_arrives(trial: Trial) -> None:
    batch = events(trial.kind.batch_size)
    assert trial.sender().send(batch) == {}
    assert len(trial.arrivals()) == len(batch)


def test_unusual_keys_arrive_as_they_are(trial: Trial) -> None:
    batch = [event(key, at) for at, key in enumerate(UNUSUAL_KEYS, 1)]
    assert trial.sender().send(batch) == {}
    arrivals = {path_of(arrival): arrival for arrival in trial.arrivals()}
    assert arrivals.keys() == {f"uploads/{key}" for key in UNUSUAL_KEYS}
    for key in UNUSUAL_KEYS:
        arrival = arrivals[f"uploads/{key}"]
        assert recorded(arrival.body)["s3"]["object"]["key"] == quote_plus(key, safe="")
        plain = json.loads(arrival.body)["Key"] if not trial.layout.format else arrival.key
        assert plain in (f"uploads/{key}", "")


def test_a_repeated_delivery_is_no_error(trial: Trial) -> None:
    batch, sender = events(3), trial.sender()
    for _ in range(3):
        assert sender.send(batch) == {}
    assert sender.send([*batch, *batch]) == {}
    times = 1 if trial.layout.mirrors else 5
    assert sorted(trial.paths()) == sorted(times * [minio.path(each) for each in batch])


def test_eight_threads_share_a_target(trial: Trial) -> None:
    sender = trial.sender()

    def work(which: int) -> list[dict[int, Exception]]:
        mine = events(50, f"thread-{which}")
        return [dict(sender.send(mine[start : start + 10])) for start in range(0, 50, 10)]

    with ThreadPoolExecutor(8) as pool:
        answers = [each for answers in pool.map(work, range(8)) for each in answers]
    assert answers == [{}] * 40
    sent = (minio.path(each) for which in range(8) for each in events(50, f"thread-{which}"))
    assert sorted(trial.paths()) == sorted(sent)


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
def test_an_odd_event_arrives_whole_or_is_rejected_alone(trial: Trial, odd: Event) -> None:
    before, after = events(3, "before"), events(3, "later")
    failures = trial.sender().send([*before, odd, *after])
    assert [(index, type(error)) for index, error in failures.items()] in ([], [(3, Rejected)])
    wanted = [*before, *after] if failures else [*before, odd, *after]
    assert {path_of(arrival): recorded(arrival.body) for arrival in trial.arrivals()} == {
        minio.path(each): recorded(minio.records(each)) for each in wanted
    }


def test_a_poison_event_is_rejected_with_its_reason_and_harms_no_neighbour(trial: Trial) -> None:
    poison = event("lone surrogate \ud800", 9)
    sender = trial.sender()
    batch = [*events(5, "before"), poison, *events(5, "later")]
    (index, error), *others = sender.send(batch).items()
    assert (index, type(error), others) == (5, Rejected, [])
    assert "surrogate" in str(error)
    assert len(trial.arrivals()) == 10
    assert type(sender.refusal([poison])) is Rejected
    assert sender.send(events(1)) == {}


def test_close_can_be_called_at_any_time(trial: Trial) -> None:
    sender = trial.sender()
    sender.close()
    for one in events(2):
        assert sender.send([one]) == {}
        sender.close()
        sender.close()
    assert len(trial.arrivals()) == 2


def test_a_probe_leaves_nothing_behind(trial: Trial) -> None:
    sender = trial.sender()
    assert sender.probe() is None
    assert trial.arrivals() == []
    assert sender.send(events(2)) == {}
    assert sender.probe() is None
    assert trial.sender().probe() is None
    assert len(trial.arrivals()) == 2


def test_another_format_at_the_same_destination_is_refused_with_the_hint(formatted: Trial) -> None:
    assert formatted.sender().send(events(2)) == {}
    before = formatted.arrivals()
    for other in layouts(formatted.layout.kind):
        if other.format != formatted.layout.format:
            sender = formatted.sender(format=other.format)
            for error in (sender.refusal(events(3)), sender.probe()):
                assert isinstance(error, Retryable)
                assert "another" in str(error)
    assert formatted.arrivals() == before


def test_where_names_the_destination(trial: Trial) -> None:
    where = trial.sender().target.where
    assert trial.server.address in where
    assert trial.server.destination in where
