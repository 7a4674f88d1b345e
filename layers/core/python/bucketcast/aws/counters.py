"""Counts of events by target, in the rules table, for MinIO's metrics and for the balance.

One call a batch adds to one item, that of the target and the hour in which the events came; reading
all is one query. Old hours are added up in one item (`fold`). No event waits for a count: one that
could not be written goes with a later one of the same function. It is lost if that function ends
before, and counted twice if only DynamoDB's response was lost.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from botocore.config import Config

from bucketcast.aws.optional_items import OptionalItems

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PARTITION = "#counters"
TOPICS: Final = "#topics"
"""The key of the topics' counts, instead of an ARN."""
_ARN: Final = "arn:"
_SPACE: Final = " "
"""Between the ARN and the hour in the key of an hour's counts."""
CLIENT: Final = Config(
    connect_timeout=1, read_timeout=2, retries={"mode": "standard", "total_max_attempts": 1}
)
"""For the client that adds: a batch must not wait for it."""


class Counts(NamedTuple):
    """Of one target: events received, failed tries, dead letters, and events without a target.

    The last are those that a rule sent to a target that does not exist.
    """

    sent: int = 0
    failed: int = 0
    dead: int = 0
    skipped: int = 0


class HourCounts(NamedTuple):
    """Of one target, the events that came in one hour, and what became of them.

    `failed` are tries. `accepted` are missing events that somebody has accepted as lost.
    """

    received: int = 0
    sent: int = 0
    dead: int = 0
    discarded: int = 0
    accepted: int = 0
    failed: int = 0

    @property
    def open(self) -> int:
        """Events that wait, or are missing; below 0 are those that were counted twice."""
        return self.received - self.sent - self.dead - self.discarded - self.accepted


class Last(NamedTuple):
    """The last success and failure of a target, and when its last batch's oldest event came.

    Times are Unix ms, 0 for never.
    """

    success: int = 0
    failure: int = 0
    error: str = ""
    reason: str = ""
    oldest: int = 0

    def later(self, other: Self) -> Self:
        """Return what is known from both: an hour's events may be tried days after newer ones."""
        failed = max(self, other, key=lambda each: each.failure)
        newest = max(other, self, key=lambda each: max(each.success, each.failure))
        return failed._replace(
            success=max(self.success, other.success), oldest=newest.oldest or other.oldest
        )


class Triggered(NamedTuple):
    """Of all topics together: events that notifications matched, one per notification."""

    triggered: int = 0


class Counters:
    """The counters of a stack; `client` creates the client on first use."""

    def __init__(self, table: str, client: "Callable[[], DynamoDBClient]") -> None:
        self._items = OptionalItems(table, PARTITION, client, "counts are written later")
        self._unwritten: dict[str, Counter[str]] = {}

    def add(self, arn: str, counts: Counts | Triggered) -> None:
        """Add to a target's counts, or to those of `TOPICS`; zeros alone make no call."""
        self._add(arn, counts._asdict())

    def add_hours(
        self,
        arn: str,
        hours: Mapping[int, HourCounts],
        last: Last,
        is_late: Callable[[], bool] = lambda: False,
    ) -> None:
        """Add to a target's counts by hour since 1970; the newest hour also gets the `last`.

        What is left when it `is_late` is written with later counts.
        """
        for hour in sorted(hours, reverse=True):
            about = last if hour == max(hours) else None
            self._add(_cell(arn, hour), hours[hour]._asdict(), about, is_late)

    def accept(self, arn: str, hour: int, number: int) -> None:
        """Count missing events of an hour as accepted.

        Raises:
            BotoCoreError, ClientError: the table did not answer.
        """
        self._items.partition.call("update_item", _cell(arn, hour), **_change({"accepted": number}))

    def _add(
        self,
        key: str,
        counts: Mapping[str, int],
        last: Last | None = None,
        is_late: Callable[[], bool] = lambda: False,
    ) -> None:
        if not any(counts.values()):
            return
        self._unwritten.setdefault(key, Counter()).update(counts)
        for each in (key, *(self._unwritten.keys() - {key})):
            if is_late() or not self._write(each, last if each == key else None):
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
        found: dict[str, Counts] = {}
        for item in self._items.partition.items(_ARN):
            arn = item["rule"]["S"].partition(_SPACE)[0]
            before = found.get(arn, Counts())
            found[arn] = Counts(*map(sum, zip(before, _numbers(item, Counts), strict=True)))
        return found

    def hours(self, arn: str = _ARN) -> Mapping[str, Mapping[int, HourCounts]]:
        """Return the counts of each hour that is not added up yet, by ARN, or of one target."""
        found: dict[str, dict[int, HourCounts]] = {}
        for item in self._items.partition.items(arn if arn == _ARN else f"{arn}{_SPACE}"):
            whose, space, hour = item["rule"]["S"].partition(_SPACE)
            if space:
                found.setdefault(whose, {})[int(hour)] = HourCounts(*_numbers(item, HourCounts))
        return found

    def last(self) -> Mapping[str, Last]:
        """Return the last success and failure of each target."""
        found: dict[str, Last] = {}
        for item in self._items.partition.items(_ARN):
            arn = item["rule"]["S"].partition(_SPACE)[0]
            found[arn] = found.get(arn, Last()).later(_last(item))
        return found

    def fold(self, arn: str, hour: int, counts: HourCounts) -> bool:
        """Add an hour up with older ones; False if it changed since it was read as `counts`."""
        items, key = self._items.partition, _cell(arn, hour)
        item = items.get(key)
        if not item or _numbers(item, HourCounts) != list(counts):
            return False
        numbers = {
            name: int(value["N"])
            for name, value in item.items()
            if "N" in value and not name.startswith(_LAST)
        }
        last = _last(items.get(arn)).later(_last(item))
        conditions = [f"{name} = :{name}" for name in numbers]
        absent = (name for name in HourCounts._fields if name not in numbers)
        conditions += [f"attribute_not_exists({name})" for name in absent]
        same = {
            "ConditionExpression": " AND ".join(conditions),
            "ExpressionAttributeValues": {f":{k}": _value(v) for k, v in numbers.items()},
        }
        try:
            items.transact(
                items.update_part(arn, **_change(numbers, last)), items.delete_part(key, **same)
            )
        except items.client.exceptions.TransactionCanceledException:
            return False
        return True

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
    if not grown:
        return {}
    changed = " SET " + ", ".join(f"{name} = :{name}" for name in sets) if sets else ""
    return {
        "UpdateExpression": "ADD " + ", ".join(f"{name} :{name}" for name in grown) + changed,
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


def _cell(arn: str, hour: int) -> str:
    return f"{arn}{_SPACE}{hour}"


def _numbers(item: Mapping[str, Any], of: type[Counts | HourCounts]) -> list[int]:
    return [int(item.get(name, {"N": "0"})["N"]) for name in of._fields]
