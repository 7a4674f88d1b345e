"""Rules in DynamoDB: all of a bucket together, and a number that grows with every change.

Ingest reads that number consistently before each batch, and reads the bucket's rules again when it
grew. So a rule is active for all events that arrive after the command that added it returned, and
an unchanged bucket costs one small read per batch.

A change reads the rules, and writes them if no other did meanwhile: so any change, even of ten
thousand rules, is atomic.
"""

import random
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bucketcast.errors import BucketcastError, Busy
from bucketcast.rules import Rule, cost
from bucketcast.state import rule_items
from bucketcast.state.table import PARTITION_KEY, SORT_KEY, Partition

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


_VERSION: Final = "#version"
_BATCH_GET: Final = 100
_TRIES: Final = 30
_PAUSE_SECONDS: Final = 0.02
_BUSY_SECONDS: Final = 5.0
Edit = Callable[[list[Rule]], list[Rule]]


class RuleExistsError(BucketcastError):
    """The same rule exists already."""


class Version(NamedTuple):
    """A change number, and what the rules of the bucket cost since then."""

    number: int = 0
    cost: int = 0


class _StoredRules(NamedTuple):
    """A bucket's rules in order, and how many items they were read from."""

    rules: list[Rule]
    version: int
    pages: int


class Rules:
    """The state table."""

    def __init__(self, table: str, client: "DynamoDBClient") -> None:
        self._table = table
        self._client = client

    def add(self, rule: Rule) -> None:
        """Add a rule.

        Raises:
            RuleExistsError: there is one with the same target, events, prefix and suffix.
            BucketcastError: there is one that is disabled.
        """

        def append(stored: list[Rule]) -> list[Rule]:
            same = next((existing for existing in stored if existing.id == rule.id), None)
            if same and same.disabled:
                raise BucketcastError(
                    f"{rule.bucket} has this rule already, switched off: "
                    f"`bucketcast event enable {rule.bucket} {rule.id}`"
                )
            if same:
                raise RuleExistsError(
                    f"{rule.bucket} has this rule already: {rule.to.short} {','.join(rule.events)} "
                    f"prefix='{rule.prefix}' suffix='{rule.suffix}'"
                )
            return [*stored, rule]

        self.change(rule.bucket, append)

    def remove(self, rules: Sequence[Rule]) -> None:
        """Remove rules; a missing one is no error."""
        ids = {rule.id for rule in rules}
        for bucket in sorted({rule.bucket for rule in rules}):
            self.change(bucket, lambda stored: [rule for rule in stored if rule.id not in ids])

    def change(self, bucket: str, edit: Edit) -> list[Rule]:
        """Replace a bucket's rules by the result of `edit`, and return that.

        `edit` is called again if another process changed the rules meanwhile; if it raises, they
        stay as they are.
        """
        for _ in range(_TRIES):
            stored = self._stored(bucket)
            edited = edit(list(stored.rules))
            if edited == stored.rules or self._write(bucket, stored, edited):
                return edited
            time.sleep(random.uniform(0, _PAUSE_SECONDS))  # noqa: S311 - no secret
        raise Busy(f"others change the rules of {bucket} all the time: try again")

    def of(self, bucket: str) -> list[Rule]:
        """Return all rules of a bucket, ordered by id."""
        return sorted(self.in_order(bucket), key=lambda rule: rule.id)

    def in_order(self, bucket: str) -> list[Rule]:
        """Return all rules of a bucket, in their original order."""
        return self._stored(bucket).rules

    def active(self, bucket: str = "") -> list[Rule]:
        """Return the rules that are not disabled, of a bucket in their original order, or all."""
        rules = self.in_order(bucket) if bucket else self.all()
        return [rule for rule in rules if not rule.disabled]

    def all(self) -> list[Rule]:
        """Return the rules of all buckets, ordered by bucket and id."""
        return [rule for bucket in self.buckets() for rule in self.of(bucket)]

    def buckets(self) -> list[str]:
        """Return the buckets that have rules, by a scan of the table."""
        pages = self._client.get_paginator("scan").paginate(
            TableName=self._table,
            FilterExpression="#key = :version AND pages > :none",
            ProjectionExpression="#partition",
            ExpressionAttributeNames={"#key": SORT_KEY, "#partition": PARTITION_KEY},
            ExpressionAttributeValues={":version": {"S": _VERSION}, ":none": {"N": "0"}},
            ConsistentRead=True,
        )
        return sorted(item[PARTITION_KEY]["S"] for page in pages for item in page["Items"])

    def versions(self, buckets: Iterable[str]) -> dict[str, Version]:
        """Return the change number of each bucket that ever had a rule, and what its rules cost.

        Raises:
            Busy: the table is too busy to return all of them.
        """
        give_up_at = time.monotonic() + _BUSY_SECONDS
        keys = [{PARTITION_KEY: {"S": name}, SORT_KEY: {"S": _VERSION}} for name in sorted(buckets)]
        versions: dict[str, Version] = {}
        for start in range(0, len(keys), _BATCH_GET):
            keys_left: Any = {
                self._table: {"Keys": keys[start : start + _BATCH_GET], "ConsistentRead": True}
            }
            while keys_left:
                response = self._client.batch_get_item(RequestItems=keys_left)
                for item in response["Responses"].get(self._table, ()):
                    cost_then = item.get("cost", {}).get("N", "0")  # listeners have none
                    version = Version(int(item["version"]["N"]), int(cost_then))
                    versions[item[PARTITION_KEY]["S"]] = version
                keys_left = response.get("UnprocessedKeys")
                if keys_left:  # the table is busy, and more so if it is called again at once
                    if time.monotonic() > give_up_at:
                        raise Busy("the state table is too busy to return all rules")
                    time.sleep(random.uniform(_PAUSE_SECONDS, 5 * _PAUSE_SECONDS))  # noqa: S311
        return versions

    def _stored(self, bucket: str) -> _StoredRules:
        """Return the rules after one change; a read during a change is retried."""
        for _ in range(_TRIES):
            items = {item[SORT_KEY]["S"]: item for item in self._partition(bucket).items()}
            number: Any = items.get(_VERSION, {})
            version = int(number.get("version", {"N": "0"})["N"])
            if "pages" not in number:
                return _StoredRules([], version, 0)
            count, written = int(number["pages"]["N"]), number["written"]["N"]
            parts = [items.get(rule_items.name(index)) for index in range(count)]
            if all(part and part["written"]["N"] == written for part in parts):
                whole = rule_items.unpack(bytes(part["rules"]["B"]) for part in parts if part)
                return _StoredRules(whole, version, count)
        raise Busy(f"the rules of {bucket} cannot be read: they change all the time")

    def _partition(self, bucket: str) -> Partition:
        return Partition(self._table, bucket, self._client)

    def _write(self, bucket: str, stored: _StoredRules, rules: Sequence[Rule]) -> bool:
        parts = rule_items.pack(rules)
        written = {"N": str(stored.version + 1)}
        items = self._partition(bucket)
        changes = [
            items.put_part(rule_items.name(number), {"rules": {"B": part}, "written": written})
            for number, part in enumerate(parts)
        ]
        unused = [rule_items.name(number) for number in range(len(parts), stored.pages)]
        changes += map(items.delete_part, unused)
        version: Any = {
            "UpdateExpression": "SET version=:next, written=:next, pages=:pages, cost=:cost",
            "ConditionExpression": "version = :seen",
            "ExpressionAttributeValues": {
                ":next": written,
                ":pages": {"N": str(len(parts))},
                ":cost": {"N": str(cost.cost(rules).memory)},
                ":seen": {"N": str(stored.version)},
            },
        }
        if not stored.version:
            version["ConditionExpression"] = "attribute_not_exists(version) OR version = :seen"
        return items.transact(*changes, items.update_part(_VERSION, **version))
