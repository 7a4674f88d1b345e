"""Counts of events by target, in the state table, for MinIO's metrics.

Events are counted when they are delivered or dead-lettered, so those of a message that was received
twice may count twice. CloudWatch's metrics are exact; these counts save a call per batch: an
instance of a function adds up its counts and writes them in steps, for each target at most once a
minute. Counts since its last step are lost when it ends, so after a burst up to a minute is
missing. A failed batch is written at once, but at most once a minute, and so is the first success
after it. A local deploy writes each batch.

No event waits for a count: one that could not be written is written with the next step. It is
counted twice if only DynamoDB's response was lost.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import inf
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

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
"""After so many seconds without a failure the next one begins a new trouble."""
_MOST_TRIES: Final = 1_000
"""Of more tries, and more than four writes have, half are forgotten."""
_ARN: Final = "arn:"
_LAST: Final = "last_"
_BEGAN: Final = ("last_failing", "last_left")
"""Times of which the first stays until it is removed."""


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

    `dead` is the last failure that dead-lettered an event. `oldest` is when the oldest event of its
    last batch arrived, and `left` when that of the first batch did which left some in the queue. Of
    the last `tried` events of all functions `taken` went through; they fail since `failing`. `left`
    and `failing` stay until a batch goes through while most do.
    """

    success: int = 0
    failure: int = 0
    error: str = ""
    reason: str = ""
    oldest: int = 0
    tried: int = 0
    taken: int = 0
    failing: int = 0
    left: int = 0
    dead: int = 0


class Triggered(NamedTuple):
    """The events that notifications of all topics matched, one per notification."""

    triggered: int = 0


class _Unwritten(msgspec.Struct):
    """The unwritten part of an item, and when a step and a failure were written last.

    `troubled`: no success was written since a failure, or since events were left.
    """

    counts: Counter[str] = msgspec.field(default_factory=Counter)
    attributes: dict[str, Any] = msgspec.field(default_factory=dict)
    step: float = -inf
    failure: float = -inf
    troubled: bool = False

    def add(self, counts: Counts, last: Last) -> None:
        """Add what became of a batch."""
        new = last._replace(failing=last.failure, dead=last.failure if counts.dead else 0)
        known = {f"{_LAST}{name}": value for name, value in new._asdict().items() if value}
        first = {name: self.attributes.pop(name) for name in _BEGAN if name in self.attributes}
        self.attributes |= known if last.success and not last.failure else known | first


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
            if last and isinstance(counts, Counts):
                tried = counts.sent + counts.failed + counts.dead
                own.counts += Counter(last_tried=tried, last_taken=counts.sent)
                own.add(counts, last)
                if last.failure and now - own.failure >= self._step:
                    own.failure, own.step = now, -inf
                elif own.troubled and last.success and not last.failure:
                    own.step = -inf
            for key, item in self._unwritten.items():
                if is_late():
                    return
                if (item.counts or item.attributes) and now - item.step >= self._step:
                    self._write(key, item, now)

    def _write(self, key: str, item: _Unwritten, now: float) -> None:
        item.step = now
        change = _change(item.counts, item.attributes)
        answer = self._items.call("update_item", key, **change, ReturnValues="ALL_OLD")
        if not answer:
            return
        own = _last(_values({**item.counts, **item.attributes}))
        if news := changed_state(_last(answer.get("Attributes", {})), own):
            attributes = {f"{_LAST}{name}": value for name, value in news.items()}
            self._items.call("update_item", key, **_change({}, attributes, stay=()))
        item.troubled = bool(own.failing or own.left)
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


def changed_state(before: Last, own: Last) -> Mapping[str, int]:
    """Return what is to be set, 0 to be removed, after `own` was added to what was there `before`.

    A failure long after all before it had gone through begins a new trouble. A success ends one if
    half of the tries of all functions went through, or none failed for long.
    """
    tried, taken = before.tried + own.tried, before.taken + own.taken
    long = max(own.success, own.failure) - before.failure > TRIES_SECONDS * 1_000
    if own.failing and before.tried and long and before.success >= before.failure:
        left = before.left if before.left > before.success else own.left
        return {"failing": own.failing, "left": left, "tried": own.tried, "taken": own.taken}
    many = not long and before.tried > max(_MOST_TRIES, 4 * own.tried)
    news = {"tried": tried // 2, "taken": taken // 2} if many else {}
    works = (long or 2 * taken >= tried) and own.success > max(before.failure, before.left)
    if works and not own.failing and (before.failing or before.left):
        news |= {"failing": 0, "left": 0}
    return news


def _change(
    counts: Mapping[str, int], attributes: Mapping[str, Any], stay: Sequence[str] = _BEGAN
) -> Mapping[str, Any]:
    """Return the change of an item that adds the counts and sets the attributes, or removes a 0.

    Those that `stay` are not set again.
    """
    known = {name: value for name, value in attributes.items() if value}
    sets = [
        f"{name} = if_not_exists({name}, :{name})" if name in stay else f"{name} = :{name}"
        for name in known
    ]
    clauses = ["ADD " + ", ".join(f"{name} :{name}" for name in counts)] if counts else []
    clauses += ["SET " + ", ".join(sets)] if sets else []
    removed = attributes.keys() - known.keys()
    clauses += ["REMOVE " + ", ".join(sorted(removed))] if removed else []
    values = _values({f":{name}": value for name, value in {**counts, **known}.items()})
    change = {"UpdateExpression": " ".join(clauses)}
    return {**change, "ExpressionAttributeValues": values} if values else change


def _values(values: Mapping[str, int | str]) -> Mapping[str, Any]:
    return {
        name: {"N": str(value)} if isinstance(value, int) else {"S": value}
        for name, value in values.items()
    }


def _last(item: Mapping[str, Any]) -> Last:
    fields: dict[str, Any] = {}
    for name in Last._fields:
        value = item.get(f"{_LAST}{name}")
        if value:
            fields[name] = int(value["N"]) if "N" in value else value["S"]
    return Last(**fields)


def _counts(item: Mapping[str, Any]) -> Counts:
    return Counts(*(int(item.get(name, {"N": "0"})["N"]) for name in Counts._fields))
