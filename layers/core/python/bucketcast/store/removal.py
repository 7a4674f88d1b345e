"""Targets that a deploy would remove, refused while something waits for them.

CloudFormation removes what left the template after all else is updated, and what fails then is not
rolled back. So this is asked while it updates: it compares what was deployed with what is wanted,
and its refusal rolls the whole deploy back before anything is gone.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bucketcast.errors import BucketcastError

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.literals import QueueAttributeNameType

Queues = Mapping[str, Sequence[str]]
"""The URLs of a target's queue and of its dead-letter queue, by its ARN."""

PAUSE: Final = 5.0
_COUNTS: "Sequence[QueueAttributeNameType]" = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


class StillWaitingError(BucketcastError):
    """A target that would be removed has messages; the text says how many, and what to do."""


@dataclass(frozen=True, slots=True)
class Removal:
    """Looks at the queues of removed targets until all were empty for `settle` seconds.

    SQS's counts are right a minute after the last message came, so that is how long they have to
    be seen empty once nobody writes there any more. What their functions still send off within
    `patience` seconds need not be refused.
    """

    client: "SQSClient"
    settle: float
    patience: float
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def demand(self, before: Queues, after: Queues, discard: Sequence[str]) -> None:
        """Refuse to remove what has messages, unless it is in `discard`, by ARN.

        Raises:
            StillWaitingError: something waits.
            ClientError: SQS cannot be asked.
        """
        kept = {url for urls in after.values() for url in urls}
        removed = {
            arn: [url for url in urls if url not in kept]
            for arn, urls in before.items()
            if arn not in discard and not kept.issuperset(urls)
        }
        if removed and (waiting := self._look(removed)):
            raise StillWaitingError(_refusal(waiting))

    def _look(self, removed: Queues) -> dict[str, list[str]]:
        """What waits, in words by ARN; empty where all have been empty for long enough."""
        began = self.clock()
        empty_since: float | None = None
        while True:
            waiting = {arn: said for arn, urls in removed.items() if (said := self._counts(urls))}
            now = self.clock()
            if waiting:
                empty_since = None
                if now - began >= self.patience:
                    return waiting
            elif empty_since is None:
                empty_since = now
            if empty_since is not None and now - empty_since >= self.settle:
                return {}
            self.sleep(PAUSE)

    def _counts(self, urls: Sequence[str]) -> list[str]:
        return [
            f"{count:,} messages in {url.rpartition('/')[2]}"
            for url in urls
            if (count := self._depth(url))
        ]

    def _depth(self, url: str) -> int:
        """Messages of a queue, those in flight and delayed too; none where it is gone."""
        try:
            found = self.client.get_queue_attributes(QueueUrl=url, AttributeNames=_COUNTS)
        except self.client.exceptions.QueueDoesNotExist:
            return 0
        return sum(map(int, found["Attributes"].values()))


def _refusal(waiting: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(_sentences(waiting)) + (
        '. Let them drain (`bucketcast target ls`) or keep the target with enable = "off"; to '
        "give them up, name the target in bucketcast.toml: [removed] discard = "
        f"{list(waiting)}".replace("'", '"')
    )


def _sentences(waiting: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for arn, said in waiting.items():
        yield f"{arn} is to be removed, and there are {' and '.join(said)}"
