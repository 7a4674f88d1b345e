"""The lease of an item: it belongs to one holder until a time, and then to the first that takes it.

It is two attributes of the item: `holder`, a token, and `leased_until`, in Unix ms.

* It can be taken while it has no holder, and after it has expired, so a dead holder does not keep
  it. The taker compares with its own clock.
* Only the holder renews or releases it, even after it has expired, unless another has taken it.
* A call that succeeded but whose response was lost succeeds again when the client repeats it.

Clocks may differ by the time that is left of a lease when it is renewed. If they differ by more, or
a holder was suspended for longer, the lease is taken from a holder that still works. So data that
two holders would destroy needs another protection.
"""

from collections.abc import Mapping
from typing import Any, Final
from uuid import uuid4

from bucketcast.state.table import EXPIRES, Partition

JOBS: Final = "#jobs"
"""The partition of the leases of jobs: of a bucket for its scans, of a backfill by its folder."""


def held(holder: str, until: int) -> dict[str, Any]:
    """Return the attributes of a leased item."""
    return {"holder": {"S": holder}, "leased_until": {"N": str(until)}}


def if_free(holder: str, now: int, former: str = "") -> dict[str, Any]:
    """Return the condition that `holder` may take an item at `now`; 0 ignores its time.

    `former` is a holder that is known to be dead.
    """
    values = {":holder": {"S": holder}, ":former": {"S": former}, ":now": {"N": str(now)}}
    return {
        "ConditionExpression": "attribute_not_exists(holder) OR holder IN (:holder, :former) "
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

    def take(self, until: int, now: int = 0) -> bool:
        """Take the lease if it is free, by `if_free`; return True if it is ours."""
        return self._put(until, if_free(self._holder, now))

    def renew(self, until: int) -> bool:
        """Extend the lease; return True if it is still ours."""
        return self._put(until, if_held(self._holder))

    def release(self) -> None:
        """Delete the lease, unless another holder has taken it."""
        self._items.delete(self._key, **if_held(self._holder))

    def read(self, name: str) -> str:
        """Return a text of the current holder, "" if there is none."""
        return str(self._items.get(self._key).get(name, {}).get("S", ""))

    def _put(self, until: int, condition: Mapping[str, Any]) -> bool:
        item = {**held(self._holder, until), EXPIRES: {"N": str(until // 1_000)}, **self._texts}
        return self._items.put(self._key, item, **condition)
