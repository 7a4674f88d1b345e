"""Whose bucket a mirror shows, where buckets of one name are in Amazon S3, in MinIO and in Ceph.

Their sequencers cannot be compared: rows of two such buckets in one table would show either, by
chance. So the first source that writes of a bucket into a table claims it there, for good. What
another source says of a bucket of that name waits, with a reason that says what to do; all else
goes on. Where order is kept, it waits among the dead letters.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from bucketcast.errors import Foreign
from bucketcast.event import AGENT, Event
from bucketcast.namespace.registers import moves

_NAMES: Final = {"aws:s3": "Amazon S3", "minio:s3": "MinIO", "ceph:s3": "Ceph RGW"}

Claim = Callable[[Mapping[str, str]], Mapping[str, str]]
"""Give sources to buckets that have none, and say which they have: both are by bucket."""


def source(event: Event) -> str:
    """Return whose sequencers the event's bucket has, as in `Event.system`; "" for nobody's.

    What our own jobs make up has those that the mirror knows, or one that is older than all.
    """
    return "" if event.user_agent.startswith(AGENT) else event.system


class Claims:
    """A cache of the claims in one table, which stores them.

    `table` is the table's name in error texts, `claim_row` says where it stores a claim.
    """

    def __init__(self, table: str, claim_row: str) -> None:
        self._table = table
        self._claim_row = claim_row
        self._owners: dict[str, str] = {}

    def refused(self, events: Sequence[Event], claim: Claim) -> dict[int, Foreign]:
        """Return the events of a batch, by index, whose buckets are another source's here.

        `claim` is called where that is not cached yet, or differs from an event's source.
        """
        wanted = _wanted(events)
        unsure = {bucket: who for bucket, who in wanted if self._owners.get(bucket) != who}
        if not unsure:
            return {}
        # Of two sources in one batch the one that comes first is to have an unclaimed bucket.
        first = {bucket: who for bucket, who in reversed(wanted) if bucket in unsure}
        self._owners |= claim(first)
        foreign = {(bucket, who) for bucket, who in wanted if self._owners.get(bucket) != who}
        reasons = {each: self._reason(*each) for each in foreign}
        return {
            index: reasons[event.bucket, source(event)]
            for index, event in enumerate(events)
            if (event.bucket, source(event)) in foreign and moves(event)
        }

    def forget(self) -> None:
        """Forget the cached claims: the table may have been replaced."""
        self._owners.clear()

    def _reason(self, bucket: str, who: str) -> Foreign:
        owner, wants = (_NAMES.get(each, each) for each in (self._owners.get(bucket, ""), who))
        return Foreign(
            f"{self._table} shows the bucket {bucket} of {owner}, and this event is of {wants}'s: "
            "their order cannot be compared. Give one of the two another table; or, if "
            f"{owner} sends no more of it, remove {self._claim_row}"
        )


def _wanted(events: Sequence[Event]) -> list[tuple[str, str]]:
    """Bucket and source of all that would write, each once, in the order in which they come.

    A name that no bucket can have is left to the server, which may refuse its event alone.
    """
    alike = {
        (each.bucket, each.dialect, each.user_agent, each.name, not each.key): each
        for each in events
    }
    seen = dict.fromkeys((each.bucket, source(each)) for each in alike.values() if moves(each))
    return [(name, who) for name, who in seen if who and name.isascii() and name.isprintable()]
