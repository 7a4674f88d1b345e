"""Rules in DynamoDB: all of a bucket together, and a number that grows with every change.

Whoever matches events asks for that number with a consistent read before each batch and reads the
bucket's rules anew when it grew. So a rule is in force for everything that arrives after the
command that made it returned, and an unchanged bucket costs one small read a batch.

A change reads the rules, and writes them if nobody else did meanwhile: so any change, the exchange
of ten thousand rules too, is in force as a whole or not at all.
"""

import random
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec
from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.conditions import Condition, Fact
from bucketcast.errors import BucketcastError
from bucketcast.event import Event
from bucketcast.listening import PARTITION as LISTENERS
from bucketcast.rules import Hit, Rule, RuleIndex
from bucketcast.store import pages

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_VERSION: Final = "#version"
_LEGACY: Final = "rule#"
_BATCH_GET: Final = 100
_TRANSACTION: Final = 80  # what is left of 100 beside the pages and the number
_TRIES: Final = 30
_PAUSE_SECONDS: Final = 0.02
_conditions = msgspec.json.Decoder(tuple[Condition, ...])
Edit = Callable[[list[Rule]], list[Rule]]


class RuleExistsError(BucketcastError):
    """The very same rule is there already."""


class UnreadableRulesError(BucketcastError):
    """What is stored of a bucket's rules is not what this release can read."""


@dataclass(frozen=True, slots=True)
class _Held:
    """A bucket's rules in their order, and what they were read from."""

    rules: list[Rule]
    version: int
    pages: int
    legacy: tuple[str, ...]


class Rules:
    """The rules table."""

    def __init__(self, table: str, client: "DynamoDBClient") -> None:
        self._table = table
        self._client = client

    def add(self, rule: Rule) -> None:
        """Put a rule in force.

        Raises:
            RuleExistsError: there is one with the same target, events, prefix and suffix.
        """

        def added(held: list[Rule]) -> list[Rule]:
            if any(each.id == rule.id for each in held):
                raise RuleExistsError(
                    f"{rule.bucket} has this rule already: {rule.arn} {','.join(rule.events)} "
                    f"prefix='{rule.prefix}' suffix='{rule.suffix}'"
                )
            return [*held, rule]

        self.change(rule.bucket, added)

    def remove(self, rules: Sequence[Rule]) -> None:
        """Take rules of one bucket out of force; one that is gone already is no error."""
        if not rules:
            return
        gone = {rule.id for rule in rules}
        self.change(rules[0].bucket, lambda held: [each for each in held if each.id not in gone])

    def change(self, bucket: str, edit: Edit) -> list[Rule]:
        """Put what `edit` makes of a bucket's rules in their place, and give it.

        `edit` is asked again where somebody else changed the rules meanwhile; what it raises
        leaves them as they are.
        """
        for left in reversed(range(_TRIES)):
            held = self._held(bucket)
            wanted = edit(list(held.rules))
            if wanted == held.rules:
                return wanted
            try:
                self._write(bucket, held, wanted)
            except self._client.exceptions.TransactionCanceledException as error:
                # Two changes of one bucket at the same moment: one of them goes first.
                if not left or codes(error).isdisjoint(
                    ("TransactionConflict", "ConditionalCheckFailed")
                ):
                    raise
                time.sleep(random.uniform(0, _PAUSE_SECONDS))  # noqa: S311 - no secret
            else:
                return wanted
        raise RuntimeError("not reached: the last try raises")

    def of(self, bucket: str) -> list[Rule]:
        """All rules of a bucket, ordered by id."""
        return sorted(self.in_order(bucket), key=lambda rule: rule.id)

    def in_order(self, bucket: str) -> list[Rule]:
        """All rules of a bucket, in the order in which they were given."""
        return self._held(bucket).rules

    def versions(self, buckets: Iterable[str]) -> dict[str, int]:
        """The change number of each bucket that ever had a rule."""
        keys = [{"bucket": {"S": name}, "rule": {"S": _VERSION}} for name in sorted(buckets)]
        found: dict[str, int] = {}
        for start in range(0, len(keys), _BATCH_GET):
            wanted: Any = {
                self._table: {"Keys": keys[start : start + _BATCH_GET], "ConsistentRead": True}
            }
            while wanted:
                answer = self._client.batch_get_item(RequestItems=wanted)
                for item in answer["Responses"].get(self._table, ()):
                    found[item["bucket"]["S"]] = int(item["version"]["N"])
                wanted = answer.get("UnprocessedKeys")
        return found

    def _held(self, bucket: str) -> _Held:
        """The rules as one change left them: a read that meets a change is tried again."""
        for _ in range(_TRIES):
            items = {item["rule"]["S"]: item for item in self._items(bucket)}
            number: Any = items.get(_VERSION, {})
            version = int(number.get("version", {"N": "0"})["N"])
            old = tuple(name for name in items if name.startswith(_LEGACY))
            if "pages" not in number:
                found = [self._legacy(items[name], bucket) for name in old]
                return _Held(found, version, 0, old)
            count, written = int(number["pages"]["N"]), number["written"]["N"]
            parts = [items.get(pages.name(each)) for each in range(count)]
            if all(part and part["written"]["N"] == written for part in parts):
                whole = pages.unpacked(bytes(part["rules"]["B"]) for part in parts if part)
                return _Held(whole, version, count, old)
        raise RuntimeError(f"the rules of {bucket} cannot be read: they change all the time")

    def _items(self, bucket: str) -> Iterable[Any]:
        asked = self._client.get_paginator("query").paginate(
            TableName=self._table,
            KeyConditionExpression="#bucket = :bucket",
            ExpressionAttributeNames={"#bucket": "bucket"},
            ExpressionAttributeValues={":bucket": {"S": bucket}},
            ConsistentRead=True,
        )
        for page in asked:
            yield from page["Items"]

    def _legacy(self, item: Any, bucket: str) -> Rule:
        conditions = _conditions.decode(item.get("conditions", {}).get("S", "[]"))
        return pages.legacy(item, bucket, conditions)

    def _write(self, bucket: str, held: _Held, wanted: Sequence[Rule]) -> None:
        parts = pages.packed(wanted)
        written = {"N": str(held.version + 1)}
        changes: list[Any] = [
            {
                "Put": {
                    "TableName": self._table,
                    "Item": {
                        **_key(bucket, pages.name(number)),
                        "rules": {"B": part},
                        "written": written,
                    },
                }
            }
            for number, part in enumerate(parts)
        ]
        gone = [pages.name(number) for number in range(len(parts), held.pages)]
        changes += self._deletes(bucket, [*gone, *held.legacy[:_TRANSACTION]])
        number: Any = {
            "TableName": self._table,
            "Key": _key(bucket, _VERSION),
            "UpdateExpression": "SET version = :next, written = :next, pages = :pages",
            "ConditionExpression": "version = :seen",
            "ExpressionAttributeValues": {
                ":next": written,
                ":pages": {"N": str(len(parts))},
                ":seen": {"N": str(held.version)},
            },
        }
        if not held.version:
            number["ConditionExpression"] = "attribute_not_exists(version) OR version = :seen"
        self._client.transact_write_items(TransactItems=[*changes, {"Update": number}])
        for start in range(_TRANSACTION, len(held.legacy), _TRANSACTION):
            rest = held.legacy[start : start + _TRANSACTION]
            self._client.transact_write_items(TransactItems=self._deletes(bucket, rest))

    def _deletes(self, bucket: str, names: Iterable[str]) -> list[Any]:
        return [{"Delete": {"TableName": self._table, "Key": _key(bucket, name)}} for name in names]


class UnreadableRules(RuleIndex):
    """Stands for a bucket's rules that cannot be read: whoever asks them is told why."""

    def __init__(self, bucket: str, why: Exception) -> None:
        super().__init__(())
        self._reason = f"the rules of {bucket} cannot be read: {type(why).__name__}: {why}"

    def match(self, event: Event, asks: set[Fact] | None = None) -> Collection[Hit]:  # noqa: ARG002
        raise UnreadableRulesError(self._reason)


class Listening(Protocol):
    """What listens beside the rules; its change number is read with theirs."""

    def beside(
        self, rules: Mapping[str, RuleIndex], buckets: Collection[str], version: int
    ) -> Mapping[str, RuleIndex]: ...


class Rulebook:
    """The indexes of the rules in force, kept while they do not change."""

    def __init__(self, rules: Rules, listening: Listening | None = None) -> None:
        self._rules = rules
        self._listening = listening
        self._kept: dict[str, tuple[int, RuleIndex]] = {}

    def __call__(self, buckets: frozenset[str]) -> Mapping[str, RuleIndex]:
        """The rules of these buckets as they are now; a bucket that never had one is missing.

        Those that cannot be read say so when they are asked.
        """
        indexes: dict[str, RuleIndex] = {}
        versions = self._rules.versions(buckets | {LISTENERS}) if buckets else {}
        heard = versions.pop(LISTENERS, 0)
        for bucket, version in versions.items():
            kept = self._kept.get(bucket)
            if kept is None or kept[0] != version:
                try:
                    kept = (version, RuleIndex(self._rules.of(bucket)))
                except (BotoCoreError, ClientError):
                    raise  # the table's own trouble is that of all buckets
                except Exception as error:  # noqa: BLE001 - one bucket must not stop the others
                    indexes[bucket] = UnreadableRules(bucket, error)
                    continue
                self._kept[bucket] = kept
            indexes[bucket] = kept[1]
        return self._listening.beside(indexes, buckets, heard) if self._listening else indexes


def codes(error: ClientError) -> set[str]:
    """Why DynamoDB cancelled a transaction, of all its items."""
    reasons: Any = error.response.get("CancellationReasons", ())
    return {reason.get("Code", "") for reason in reasons}


def _key(bucket: str, name: str) -> dict[str, Any]:
    return {"bucket": {"S": bucket}, "rule": {"S": name}}
