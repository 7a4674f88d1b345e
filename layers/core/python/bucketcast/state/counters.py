"""Counts of events by target, in the state table, for MinIO's metrics.

Events are counted when they are delivered or dead-lettered, so those of a message that was received
twice may count twice. CloudWatch's metrics are exact; these counts save a call per batch: an
instance of a function adds up its counts and writes them in steps, for each target at most once a
minute. Counts since its last step are lost when it ends, so after a burst up to a minute is
missing. A failed batch is written at once, but at most once a minute. A local deploy writes each
batch.

No event waits for a count: one that could not be written is written with the next step. It is
counted twice if only DynamoDB's response was lost.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bucketcast.state.optional_items import OptionalItems
from bucketcast.state.table import SORT_KEY
from bucketcast.telemetry import observer

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PARTITION = "#counters"
TOPICS: Final = "#topics"
"""The key of the topics' counts, instead of an ARN."""
STEP: Final = "BUCKETCAST_COUNTING_STEP"
"""The environment variable with the seconds of a step, if they are not `STEP_SECONDS`."""
STEP_SECONDS: Final = 60.0
TRIES_SECONDS: Final = 150.0
_ARN: Final = "arn:"
_LAST: Final = "last_"
_FAILING: Final = "last_failing"


class Counts(NamedTuple):
    """The counts of one target: events sent, failed tries, dead letters, and skipped events.

    A skipped event is one that a rule sent to a target that does not exist.
    """

    sent: int = 0
    failed: int = 0
    dead: int = 0
    skipped: int = 0


class Last(NamedTuple):
    """The last success and failure of a target; times are Unix ms, 0 for never.

    `oldest` is when the oldest event of its last batch arrived. Of the last `tried` events, as one
    function saw them within `TRIES_SECONDS` or twice as long, `taken` went through; most fail since
    `failing`.
    """

    success: int = 0
    failure: int = 0
    error: str = ""
    reason: str = ""
    oldest: int = 0
    tried: int = 0
    taken: int = 0
    failing: int = 0


class Triggered(NamedTuple):
    """The events that notifications of all topics matched, one per notification."""

    triggered: int = 0


@dataclass
class _Unwritten:
    """The unwritten part of an item, and when a step and a failure were written last."""

    counts: Counter[str] = field(default_factory=Counter)
    attributes: dict[str, Any] = field(default_factory=dict)
    step: float = -inf
    failure: float = -inf
    tries: Counter[str] = field(default_factory=Counter)
    earlier: Counter[str] = field(default_factory=Counter)
    began: float = -inf

    def count_tries(self, counts: Counts, at: int, now: float) -> None:
        """Let the attributes tell the last tries, with those of a batch that ended `at` (Unix ms).

        Two spans are counted, the running one and the one before it.
        """
        seconds = now - self.began
        if seconds >= TRIES_SECONDS:
            self.earlier = self.tries if seconds < 2 * TRIES_SECONDS else Counter()
            self.tries, self.began = Counter(), now
        tried = counts.sent + counts.failed + counts.dead
        self.tries.update(tried=tried, taken=counts.sent)
        last = self.tries + self.earlier
        most_fail = 2 * last["taken"] < last["tried"]
        self.attributes |= {f"{_LAST}{name}": last[name] for name in ("tried", "taken")}
        self.attributes[_FAILING] = self.attributes.get(_FAILING) or at if most_fail else 0


class Counters:
    """The counters of a stack; `client` creates the client on first use."""

    def __init__(self, table: str, client: "Callable[[], DynamoDBClient]") -> None:
        self._items = OptionalItems(table, PARTITION, client, "counts are written later")
        self._step = float(os.environ.get(STEP, STEP_SECONDS))
        self._unwritten: dict[str, _Unwritten] = {}
        self._lock = Lock()

    @observer
    def add(
        self,
        arn: str,
        counts: Counts | Triggered,
        last: Last | None = None,
        is_late: Callable[[], bool] = lambda: False,
    ) -> None:
        """Add to a target's counts, or to those of `TOPICS`, and write all counts that are due.

        The `last` replaces the earlier one of the target. Once it `is_late`, the rest is written
        with later counts. Several threads may call it.
        """
        with self._lock:
            own, now = self._unwritten.setdefault(arn, _Unwritten()), time.monotonic()
            own.counts.update({name: number for name, number in counts._asdict().items() if number})
            if last:
                own.attributes |= {f"{_LAST}{name}": v for name, v in last._asdict().items() if v}
            if last and isinstance(counts, Counts) and any(counts):
                own.count_tries(counts, last.failure or last.success, now)
            if last and last.failure and now - own.failure >= self._step:
                own.failure, own.step = now, -inf
            for key, item in self._unwritten.items():
                if is_late():
                    return
                if (item.counts or item.attributes) and now - item.step >= self._step:
                    self._write(key, item, now)

    def _write(self, key: str, item: _Unwritten, now: float) -> None:
        item.step = now
        if self._items.call("update_item", key, **_change(item.counts, item.attributes)):
            item.counts, item.attributes = Counter(), {}

    def read(self) -> Mapping[str, Counts]:
        """Return the counts since the stack was created, by ARN."""
        return {item[SORT_KEY]["S"]: _counts(item) for item in self._items.partition.items(_ARN)}

    def read_last(self) -> Mapping[str, Last]:
        """Return the last success and failure of each target."""
        return {item[SORT_KEY]["S"]: _last(item) for item in self._items.partition.items(_ARN)}

    def read_triggered(self) -> int:
        """Return the number of events that topics' notifications matched since the stack exists."""
        return int(self._items.partition.get(TOPICS).get("triggered", {"N": "0"})["N"])


def _change(counts: Mapping[str, int], attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the change of an item that adds the counts and sets the attributes.

    The first time from which most tries fail stays, until most go through.
    """
    recovered = attributes.get(_FAILING) == 0
    known = {name: value for name, value in attributes.items() if name != _FAILING or value}
    sets = [
        f"{name} = if_not_exists({name}, :{name})" if name == _FAILING else f"{name} = :{name}"
        for name in known
    ]
    clauses = ["ADD " + ", ".join(f"{name} :{name}" for name in counts)] if counts else []
    clauses += ["SET " + ", ".join(sets)] if sets else []
    clauses += [f"REMOVE {_FAILING}"] if recovered else []
    values = {**counts, **known}
    return {
        "UpdateExpression": " ".join(clauses),
        "ExpressionAttributeValues": {f":{name}": _attribute(v) for name, v in values.items()},
    }


def _attribute(value: int | str) -> Any:
    return {"N": str(value)} if isinstance(value, int) else {"S": value}


def _last(item: Mapping[str, Any]) -> Last:
    fields: dict[str, Any] = {}
    for name in Last._fields:
        value = item.get(f"{_LAST}{name}")
        if value:
            fields[name] = int(value["N"]) if "N" in value else value["S"]
    return Last(**fields)


def _counts(item: Mapping[str, Any]) -> Counts:
    return Counts(*(int(item.get(name, {"N": "0"})["N"]) for name in Counts._fields))
