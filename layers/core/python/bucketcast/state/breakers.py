"""The breakers of a stack's targets, in the state table: an item per target.

A batch reads its target's item, for half a read unit. The first event that a target takes with its
settings is noted there, and what it refused in a row is counted; nothing is written while it takes
more. While the table does not answer, each function uses what it read last, and what it sees
itself. The item of a removed target expires.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from botocore.exceptions import ClientError

from bucketcast.delivery.breaker import LocalStore, Outage
from bucketcast.state.lease import if_free
from bucketcast.state.optional_items import OptionalItems
from bucketcast.state.table import EXPIRES, SORT_KEY, is_refusal

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PARTITION: Final = "#breakers"
KEPT_DAYS: Final = 90
"""Days for which an item outlives the last try: events for a wrong address may be as rare."""
_EXPIRY: Final = "#expires = if_not_exists(paused, :expires)"
"""A paused target's item does not expire: in seconds, the ms of its pause are far away."""
REASON_LENGTH: Final = 1_000


class Breakers:
    """All breakers of a stack; `client` creates the client on first use."""

    def __init__(self, table: str, client: "Callable[[], DynamoDBClient]") -> None:
        self._items = OptionalItems(
            table, PARTITION, client, "the breaker is known to this function only"
        )

    def of(self, arn: str) -> "SharedBreakers":
        """Return the store of one target."""
        return SharedBreakers(self._items, arn)

    def read(self) -> Mapping[str, Outage]:
        """Return the unreachable and the paused targets, by ARN."""
        items = self._items.partition.items()
        found = ((item[SORT_KEY]["S"], _outage(item)) for item in items)
        return {arn: outage for arn, outage in found if outage and outage.holds_back}

    def pause(self, arn: str, now: int) -> int:
        """Pause a target; return the time from which it is paused, in Unix ms.

        Raises:
            BotoCoreError, ClientError: the table did not answer.
        """
        answer = self._items.partition.call(
            "update_item",
            arn,
            UpdateExpression="SET paused = if_not_exists(paused, :now) REMOVE #expires",
            ExpressionAttributeNames={"#expires": EXPIRES},
            ExpressionAttributeValues={":now": {"N": str(now)}},
            ReturnValues="ALL_NEW",
        )
        return int(answer["Attributes"]["paused"]["N"])

    def resume(self, arn: str) -> int:
        """End a pause; return the time from which the target was paused, 0 if it was not.

        Raises:
            BotoCoreError, ClientError: the table did not answer.
        """
        try:
            answer = self._items.partition.call(
                "update_item",
                arn,
                UpdateExpression="SET #expires = :expires REMOVE paused",
                ConditionExpression="attribute_exists(paused)",
                ExpressionAttributeNames={"#expires": EXPIRES},
                ExpressionAttributeValues={":expires": _expiry(round(time.time() * 1_000))},
                ReturnValues="ALL_OLD",
            )
        except ClientError as error:
            if is_refusal(error):
                return 0
            raise
        return int(answer["Attributes"]["paused"]["N"])


class SharedBreakers:
    """A target's item, with what was last known of it for when the table does not answer."""

    def __init__(self, items: OptionalItems, arn: str) -> None:
        self._items = items
        self._arn = arn
        self._own = LocalStore()
        self._asked = False

    def read(self) -> Outage | None:
        # Left alone because of another target, it would be unknown whether this one is in trouble.
        answer = self._items.call("get_item", self._arn, always=not self._asked)
        self._asked = True
        if answer is not None:
            # A table that does not answer later must neither end an outage nor resume a target.
            self._own.outage = _outage(answer.get("Item", {}))
        return self._own.read()

    def record(self, outage: Outage, *, probed: bool) -> Outage:
        own = self._own.record(outage, probed=probed)
        sets = ["since = if_not_exists(since, :since)", "#next = :next"]
        sets += ["#error = :error", "reason = :reason", "settings = :settings"]
        values = {
            ":since": {"N": str(outage.since)},
            ":next": {"N": str(outage.next)},
            ":error": {"S": outage.error},
            ":reason": {"S": outage.reason[:REASON_LENGTH]},
            ":settings": {"S": outage.settings},
            ":one": {"N": "1"},
        }
        change = f"SET {', '.join(sets)}, {_EXPIRY} ADD tries :one"
        change += " REMOVE holder, leased_until" if probed else ""
        names = {"#next": "next", "#error": "error"}
        return self._update(change, values, outage.next, names) or own

    def count_refusals(self, number: int, settings: str, now: int) -> int:
        own = self._own.count_refusals(number, settings, now)
        values = {":number": {"N": str(number)}, ":settings": {"S": settings}}
        more = f"SET {_EXPIRY} ADD refusals :number"
        first = f"SET {_EXPIRY}, counted = :settings, refusals = :number"
        for change, condition in (
            (more, "counted = :settings"),
            (first, "attribute_not_exists(counted) OR counted <> :settings"),
        ):
            with suppress(ClientError):
                changed = self._update(change, values, now, ConditionExpression=condition)
                return changed.refusals if changed else own
        return 0

    def _update(
        self,
        change: str,
        values: Mapping[str, Any],
        last_try: int,
        names: Mapping[str, str] = MappingProxyType({}),
        **condition: Any,
    ) -> Outage | None:
        """Change the item; return what it says then, None if the table does not answer."""
        answer = self._items.call(
            "update_item",
            self._arn,
            UpdateExpression=change,
            ExpressionAttributeNames={**names, "#expires": EXPIRES},
            ExpressionAttributeValues={**values, ":expires": _expiry(last_try)},
            ReturnValues="ALL_NEW",
            **condition,
        )
        return None if answer is None else _outage(answer["Attributes"])

    def start_probe(self, now: int, until: int) -> bool:
        free = if_free(uuid4().hex, now)
        try:
            answer = self._items.call(
                "update_item",
                self._arn,
                UpdateExpression="SET holder = :holder, leased_until = :until",
                ConditionExpression=f"#next <= :now AND ({free['ConditionExpression']})",
                ExpressionAttributeNames={"#next": "next"},
                ExpressionAttributeValues={
                    **free["ExpressionAttributeValues"],
                    ":until": {"N": str(until)},
                },
            )
        except ClientError:
            return False
        return answer is not None or self._own.start_probe(now, until)

    def clear(self, took: str | None, now: int) -> None:
        self._own.clear(took, now)
        change = "REMOVE since, #next, holder, leased_until, tries, #error, reason, settings"
        names = {"#next": "next", "#error": "error"}
        if took is None:
            self._update(f"{change} SET {_EXPIRY}", {}, now, names)
        else:
            change += f", refusals SET {_EXPIRY}, counted = :took, took = :took"
            self._update(change, {":took": {"S": took}}, now, names)


def _expiry(last_try: int) -> Mapping[str, str]:
    """Return when an item expires, in seconds; the last try is in ms."""
    return {"N": str(last_try // 1_000 + KEPT_DAYS * 86_400)}


def _outage(item: Mapping[str, Any]) -> Outage | None:
    """Return what an item says; None if nothing."""
    since, next_, probing, tries, paused, refusals = (
        int(item.get(name, {"N": "0"})["N"])
        for name in ("since", "next", "leased_until", "tries", "paused", "refusals")
    )
    error, reason, settings = (
        item.get(name, {"S": ""})["S"] for name in ("error", "reason", "settings")
    )
    counted, took = (item.get(name, {"S": None})["S"] for name in ("counted", "took"))
    found = Outage(
        since, next_, probing, tries, error, reason, paused, settings, refusals, counted, took
    )
    return found if found.holds_back or counted is not None else None
