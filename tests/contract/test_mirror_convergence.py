"""Every mirror shows the same after the same events, whatever their order, split and repetition.

The events are any that move a register, also such as no bucket would send: sequencers and times
that do not agree, or no sequencer. `test_bucket_model.py` has those of a bucket.
"""

import json
import os
from collections.abc import Iterable
from itertools import count

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bucketcast.event import Event
from bucketcast.mirror.synthetic import Object, created, just_after
from bucketcast.shapes import minio
from tests.contract.case import DELETE, PUT, Case, event, path_of, record_of
from tests.contract.mirrors import rows
from tests.contract.oracle import Row, visible, without_puts_again
from tests.servers import Arrival

EXAMPLES = int(os.environ.get("MODEL_EXAMPLES", "60"))
COPY = "s3:ObjectCreated:Copy"
MARKER = "s3:ObjectRemoved:DeleteMarkerCreated"
TAGGED, HOLD = "s3:ObjectCreated:PutTagging", "s3:ObjectCreated:PutLegalHold"
NAMES = (PUT, PUT, COPY, DELETE, DELETE, MARKER, TAGGED, HOLD)
KEYS = ("a/b", 'ü +%"},"source":{', "k" * 600)
VERSIONS = (None, "null", "v1", "v2")


def rows_of(arrivals: Iterable[Arrival], bucket: str) -> dict[str, Row]:
    """Return what a mirror shows of a bucket; a document's id may be a hash."""
    return rows((each for each in arrivals if path_of(each).startswith(f"{bucket}/")), path_of)


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    """Events of which no two have one time, or one sequencer."""
    length = draw(st.integers(1, 12))
    times = draw(st.permutations(range(1, length + 1)))
    return without_puts_again(_any_event(draw, order, at) for order, at in enumerate(times, 1))


def _any_event(draw: st.DrawFn, order: int, at: int) -> Event:
    name, key = draw(st.sampled_from(NAMES)), draw(st.sampled_from(KEYS))
    sequencer = "" if draw(st.integers(0, 2)) == 0 else f"{order:X}"
    facts = {"size": order * 100 + at, "etag": f"e{at}"}
    if name not in (PUT, COPY):
        facts = {"size": None, "etag": None}
    version = draw(st.sampled_from(VERSIONS))
    return event(key, at, name, sequencer=sequencer, version_id=version, **facts)


@st.composite
def deliveries(draw: st.DrawFn) -> tuple[list[Event], list[list[Event]]]:
    """A history, and batches that deliver all of it in any order, some of it again."""
    history = draw(histories())
    repeated = draw(st.lists(st.sampled_from(history), max_size=6))
    stream = draw(st.permutations([*history, *repeated]))
    batches: list[list[Event]] = [[]]
    for event_ in stream:
        if draw(st.booleans()) and batches[-1]:
            batches.append([])
        batches[-1].append(event_)
    return history, batches


def test_any_order_and_repetition_gives_the_same_rows(mirror: Case) -> None:
    senders = (mirror.sender(), mirror.sender())
    buckets = count()

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(deliveries())
    def converges(delivered: tuple[list[Event], list[list[Event]]]) -> None:
        history, batches = delivered
        bucket = f"b{next(buckets)}"
        for turn, batch in enumerate(batches):
            assert senders[turn % 2].send([within(bucket, each) for each in batch]) == {}
        expected = visible(within(bucket, each) for each in history)
        assert rows_of(mirror.arrivals(), bucket) == expected

    converges()


def within(bucket: str, each: Event) -> Event:
    return msgspec.structs.replace(each, bucket=bucket)


def seen(version: str, at: int, after: int) -> Event:
    """The put of `at` as ingest reports it again, after it saw a removal."""
    listed = Object("uploads", "a", version, at, f"e{at}")
    order = just_after(event("a", after).order)
    return created(listed, sequencer=f"{after:X}", time=order[1], by="ingest")


@pytest.mark.parametrize("together", [True, False], ids=["one batch", "one by one"])
def test_a_version_that_is_seen_again_leaves_its_row_as_it_is(
    mirror: Case, *, together: bool
) -> None:
    """But for the sequencer, so that no event from before the removal changes it."""
    put = event("a", 5, version_id="v2", principal="ann", source_ip="192.0.2.7")
    old = event("a", 9, DELETE, version_id="v1", etag=None, size=None)
    again = seen("v2", 5, 9)
    sender = mirror.sender()
    stream = [put, old, again, put, again]
    for batch in [stream] if together else [[each] for each in stream]:
        assert sender.send(batch) == {}
    (arrival,) = mirror.arrivals()
    record = record_of(arrival.body)
    expected = json.loads(minio.records(put))["Records"][0]
    assert record["s3"]["object"].pop("sequencer") == "9"
    assert expected["s3"]["object"].pop("sequencer") == "5"
    assert record == expected
    late = [
        event("a", 8, DELETE, version_id="v3", etag=None, size=None),
        event("a", 7, version_id="v3"),
        event("a", 6, MARKER, version_id="m", etag=None, size=None),
    ]
    for each in late:
        assert sender.send([each]) == {}
    assert rows_of(mirror.arrivals(), "uploads") == {"uploads/a": Row(PUT, 5, "e5", "9")}
    removal = event("a", 12, DELETE, version_id="v2", etag=None, size=None)
    assert sender.send([removal]) == {}
    assert rows_of(mirror.arrivals(), "uploads") == {}


def test_a_version_that_is_seen_is_shown_where_the_row_was_another(mirror: Case) -> None:
    first, second = event("a", 3, version_id="v1"), event("a", 5, version_id="v2")
    removal = event("a", 9, DELETE, version_id="v2", etag=None, size=None)
    sender = mirror.sender()
    for each in (first, second, removal):
        assert sender.send([each]) == {}
    assert sender.send([seen("v1", 3, 9)]) == {}
    assert rows_of(mirror.arrivals(), "uploads") == {"uploads/a": Row(PUT, 3, "e3", "9")}
    assert sender.send([first, second]) == {}
    assert rows_of(mirror.arrivals(), "uploads") == {"uploads/a": Row(PUT, 3, "e3", "9")}
    other = event("a", 11, version_id=None)
    assert sender.send([other]) == {}
    assert sender.send([seen("null", 12, 13)]) == {}, "another object of the same version"
    assert rows_of(mirror.arrivals(), "uploads") == {"uploads/a": Row(PUT, 12, "e12", "D")}
