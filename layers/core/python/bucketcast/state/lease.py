"""The lease of an item: the item is one holder's until a time, and then whoever's takes it.

It is two attributes of the item: `holder`, a token, and `leased_until`, in Unix ms.

* It can be taken while nobody holds it, and when its time is over: a dead holder keeps nobody out.
  Whether it is over, the taker tells by its own clock.
* Only the holder renews or releases it, also after its time if nobody took it meanwhile.
* A call that succeeded but whose response was lost succeeds again when the client repeats it.

Clocks may differ by what is left of a lease between its renewals. If they differ by more, or a
holder was suspended for longer, the lease is taken from one that is still at work: so what two
holders would destroy has a guard of its own.
"""

from collections.abc import Mapping
from typing import Any, Final
from uuid import uuid4

from bucketcast.state.table import EXPIRES, Partition

SCANS: Final = "#scans"
"""The partition of the leases of buckets, for their scans."""


def held(holder: str, until: int) -> dict[str, Any]:
    """Return the attributes of a leased item."""
    return {"holder": {"S": holder}, "leased_until": {"N": str(until)}}


def if_free(holder: str, now: int, gone: str = "") -> dict[str, Any]:
    """Return the condition that `holder` may take an item at `now`; 0 asks no clock.

    `gone` is a holder that is known to need it no more.
    """
    values = {":holder": {"S": holder}, ":gone": {"S": gone}, ":now": {"N": str(now)}}
    return {
        "ConditionExpression": "attribute_not_exists(holder) OR holder IN (:holder, :gone) "
        "OR leased_until <= :now",
        "ExpressionAttributeValues": values,
    }


def if_held(holder: str) -> dict[str, Any]:
    """Return the condition that an item is the holder's."""
    return {
        "ConditionExpression": "holder = :holder",
        "ExpressionAttributeValues": {":holder": {"S": holder}},
    }


class Lease:
    """The lease of an item without other content, which DynamoDB removes some time after its end.

    A holder without a name gets a token. `texts` are stored with it, for others to read.
    """

    def __init__(self, items: Partition, key: str, holder: str = "", **texts: str) -> None:
        self._items = items
        self._key = key
        self._holder = holder or uuid4().hex
        self._texts = {name: {"S": text} for name, text in texts.items()}

    def take(self, until: int, now: int = 0, gone: str = "") -> bool:
        """Take the lease if it is free, as `if_free` says; return whether it is ours."""
        return self._put(until, if_free(self._holder, now, gone))

    def renew(self, until: int) -> bool:
        """Extend the lease; return whether it is still ours."""
        return self._put(until, if_held(self._holder))

    def release(self) -> None:
        """Delete the lease, unless it is another's by now."""
        self._items.delete(self._key, **if_held(self._holder))

    def read(self, text: str = "holder") -> str:
        """Return this text of the current holder, "" if there is none."""
        return str(self._items.get(self._key).get(text, {}).get("S", ""))

    def _put(self, until: int, condition: Mapping[str, Any]) -> bool:
        item = {**held(self._holder, until), EXPIRES: {"N": str(until // 1_000)}, **self._texts}
        return self._items.put(self._key, item, **condition)
