"""What a mirror shows, read as the rows of the oracle."""

from collections.abc import Callable, Iterable
from operator import attrgetter

from tests.contract.case import record_of
from tests.contract.oracle import Row
from tests.servers import Arrival


def rows(
    arrivals: Iterable[Arrival], key: Callable[[Arrival], str] = attrgetter("key")
) -> dict[str, Row]:
    """Return the row that each arrival shows, by its key."""
    rows_ = {}
    for arrival in arrivals:
        record = record_of(arrival.body)
        item = record["s3"]["object"]
        size, etag = item.get("size", 0), item.get("eTag", "")
        rows_[key(arrival)] = Row(record["eventName"], size, etag, item["sequencer"])
    return rows_
