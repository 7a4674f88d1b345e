"""How many messages may wait for a target: any number, or as many as its `queue_limit` says."""

from collections.abc import Mapping
from typing import Final

from bucketcast.limits import QUEUE_LIMIT

DISCARD: Final = "discard"


def limit_of(settings: Mapping[str, str]) -> int | None:
    """Return the limit that a target's valid settings set; None for none."""
    if settings.get("queue_overflow", "").lower() != DISCARD:
        return None
    return int(settings.get("queue_limit") or 0) or QUEUE_LIMIT
