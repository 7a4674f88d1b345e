"""Counts of events by target, in the state table, for MinIO's metrics.

One call a batch adds to one item, that of the target; reading all is one query. Events are counted
when they are delivered or dead-lettered, so those of a message that was received twice may count
twice. No event waits for a count: one that could not be written goes with a later one of the same
function. It is lost if that function ends before, and counted twice if only DynamoDB's response was
lost.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bucketcast.state.optional_items import OptionalItems
from bucketcast.state.table import SORT_KEY

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PARTITION = "#counters"
TOPICS: Final = "#topics"
"""The key of the topics' counts, instead of an ARN."""
_ARN: Final = "arn:"


class Counts(NamedTuple):
    """Of one target: events sent, failed tries, dead letters, and events without a target.

    The last are those that a rule sent to a target that does not exist.
    """

    sent: int = 0
    failed: int = 0
    dead: int = 0
    skipped: int = 0


class Last(NamedTuple):
    """The last success and failure of a target, and when its last batch's oldest event came.

    Times are Unix ms, 0 for never.
    """

    success: int = 0
    failure: int = 0
    error: str = ""
    reason: str = ""
    oldest: int = 0


class Triggered(NamedTuple):
    """Of all topics together: events that notifications matched, one per notification."""

    triggered: int = 0


class Counters:
    """The counters of a stack; `client` creates the client on first use."""

    def __init__(self, table: str, client: "Callable[[], DynamoDBClient]") -> None:
        self._items = OptionalItems(table, PARTITION, client, "counts are written later")
        self._unwritten: dict[str, Counter[str]] = {}

    def add(
        self,
        arn: str,
        counts: Counts | Triggered,
        last: Last | None = None,
        is_late: Callable[[], bool] = lambda: False,
    ) -> None:
        """Add to a target's counts, or to those of `TOPICS`; zeros without a `last` make no call.

        The `last` replaces what was known of a target. What is left when it `is_late` is written
        with later counts.
        """
        added = counts._asdict()
        if last is None and not any(added.values()):
            return
        self._unwritten.setdefault(arn, Counter()).update(added)
        for each in (arn, *(self._unwritten.keys() - {arn})):
            if is_late() or not self._write(each, last if each == arn else None):
                return

    def _write(self, key: str, last: Last | None) -> bool:
        """Write what was not written yet of one item; return whether DynamoDB took it."""
        change = _change(self._unwritten[key], last)
        if change and not self._items.call("update_item", key, **change):
            return False
        del self._unwritten[key]
        return True

    def read(self) -> Mapping[str, Counts]:
        """Return the counts since the stack was created, by ARN."""
        return {item[SORT_KEY]["S"]: _counts(item) for item in self._items.partition.items(_ARN)}

    def last(self) -> Mapping[str, Last]:
        """Return the last success and failure of each target."""
        return {item[SORT_KEY]["S"]: _last(item) for item in self._items.partition.items(_ARN)}

    def triggered(self) -> int:
        """Return how many events topics' notifications matched since the stack was created."""
        return int(self._items.partition.get(TOPICS).get("triggered", {"N": "0"})["N"])


_LAST: Final = "last_"
_LASTS: Final = tuple(f"{_LAST}{name}" for name in Last._fields)


def _change(counts: Mapping[str, int], last: Last | None = None) -> Mapping[str, Any]:
    """Return the change of an item that adds counts and sets what is known of the last batch."""
    grown = {name: number for name, number in counts.items() if number}
    sets: dict[str, Any] = dict(zip(_LASTS, last, strict=True)) if last else {}
    sets = {name: known for name, known in sets.items() if known}
    if not (grown or sets):
        return {}
    added = "ADD " + ", ".join(f"{name} :{name}" for name in grown) if grown else ""
    changed = " SET " + ", ".join(f"{name} = :{name}" for name in sets) if sets else ""
    return {
        "UpdateExpression": added + changed,
        "ExpressionAttributeValues": {f":{k}": _value(v) for k, v in (grown | sets).items()},
    }


def _value(of: int | str) -> Any:
    return {"N": str(of)} if isinstance(of, int) else {"S": of}


def _last(item: Mapping[str, Any]) -> Last:
    known: dict[str, Any] = {}
    for name in Last._fields:
        value = item.get(f"{_LAST}{name}")
        if value:
            known[name] = int(value["N"]) if "N" in value else value["S"]
    return Last(**known)


def _counts(item: Mapping[str, Any]) -> Counts:
    return Counts(*(int(item.get(name, {"N": "0"})["N"]) for name in Counts._fields))
