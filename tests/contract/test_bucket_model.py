"""Every mirror shows what a listing of the bucket shows, however its events come.

Small here; `make model` takes many more examples (`MODEL_EXAMPLES`).
"""

import json
import os
import random
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bucketcast import sources
from bucketcast.errors import Retryable
from bucketcast.event import Event
from tests.contract.bucket import STEPS, Bucket, Happened, Step, perform
from tests.contract.bucket_listing import VisibleObject, shown_by, wrong
from tests.contract.bucket_records import DIALECTS, Dialect, body
from tests.contract.case import Case, Sender

EXAMPLES = int(os.environ.get("MODEL_EXAMPLES", "12"))
TRIES = 40
STEP = st.tuples(st.sampled_from(STEPS), st.sampled_from(("a b+%", "ä/", "c")), st.integers(0, 41))


def mirrored(mirror: Case, name: str) -> dict[str, VisibleObject]:
    """Return what the rows of a bucket show; none may come from a read."""
    rows = {}
    for arrival in mirror.arrivals():
        bucket, _, key = str(arrival.key).partition("/")
        if bucket == name:
            rows[key] = shown_by(arrival.body)
            assert b'"s3:ObjectAccessed:' not in arrival.body
    return rows


def records_of(
    name: str, dialect: Dialect, history: Sequence[Happened], source: random.Random, *, blanks: bool
) -> list[Event]:
    """The events of a history, as the source's JSON says them."""
    bodies = (body(dialect, name, each, source) for each in history)
    separators = (" ,\n ", " : ") if blanks else (",", ":")
    documents = [json.dumps(each, separators=separators) for each in bodies if each]
    return [event for document in documents for event in sources.events(document)]


def deliver(
    senders: Sequence[Sender], events: Sequence[Event], source: random.Random, max_size: int
) -> None:
    """Send all, some of it again, in any order, in batches of any size, by all senders at once."""
    repeated = source.sample(events, len(events) // 3)
    stream = source.sample([*events, *repeated], len(events) + len(repeated))
    batches = list(_batches(stream, source, max_size))
    parts = [batches[index :: len(senders)] for index in range(len(senders))]
    with ThreadPoolExecutor(len(senders)) as pool:
        list(pool.map(_send, senders, parts))


def _send(sender: Sender, batches: Sequence[Sequence[Event]]) -> None:
    """As the queue does it: what fails, since another writes the same keys, comes again."""
    for batch in batches:
        unsent = list(batch)
        for attempt in range(TRIES):
            failures = sender.send(unsent)
            assert {type(error) for error in failures.values()} <= {Retryable}
            unsent = [unsent[index] for index in sorted(failures)]
            if not unsent:
                break
            # As the queue does: two that come back at the same pace could always lose.
            time.sleep(random.uniform(0, 0.02 * (attempt + 1)))  # noqa: S311 - a pause
        assert unsent == []


def _batches(stream: list[Event], source: random.Random, max_size: int) -> Iterator[list[Event]]:
    while stream:
        size = source.randint(1, max_size)
        yield stream[:size]
        stream = stream[size:]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_mirror_equals_the_listing_in_any_order(merged: Case, dialect: Dialect) -> None:
    senders = [merged.sender(), merged.sender()]
    buckets = count()

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(
        st.lists(STEP, min_size=1, max_size=25),
        st.booleans(),
        st.booleans(),
        st.integers(0, 2**32),
    )
    def holds(steps: list[Step], versioned: bool, blanks: bool, seed: int) -> None:  # noqa: FBT001
        bucket, name, source = Bucket(), f"b{next(buckets)}", random.Random(seed)  # noqa: S311
        if versioned:
            bucket.set_versioning()
        history = perform(bucket, steps)
        events = records_of(name, dialect, history, source, blanks=blanks)
        deliver(senders, events, source, max_size=25)
        assert wrong(mirrored(merged, name), bucket, dialect, history) == {}

    holds()
