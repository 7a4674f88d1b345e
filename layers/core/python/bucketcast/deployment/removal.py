"""Refuse a deploy that would remove targets with waiting messages.

CloudFormation removes old resources after the update, and does not roll back then. So this check
runs during the update: it compares the deployed targets with the new ones, and its refusal rolls
the whole deploy back before any resource is removed.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bucketcast.delivery.queue import depth
from bucketcast.errors import BucketcastError

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

Queues = Mapping[str, Sequence[str]]
"""The URLs of a target's queue and of its dead-letter queue, by its ARN."""

PAUSE: Final = 5.0


@dataclass(frozen=True, slots=True)
class Removal:
    """Waits until the queues of removed targets have been empty for `settle` seconds.

    SQS's counts are exact a minute after the last message was sent. The functions have `timeout`
    seconds to deliver waiting messages before the deploy is refused.
    """

    client: "SQSClient"
    settle: float
    timeout: float
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def require_empty(self, before: Queues, after: Queues, discard: Sequence[str]) -> None:
        """Refuse to remove targets with messages, unless their ARNs are in `discard`.

        Raises:
            BucketcastError: messages are waiting.
            ClientError: SQS refused.
        """
        kept = {url for urls in after.values() for url in urls}
        removed = {
            arn: [url for url in urls if url not in kept]
            for arn, urls in before.items()
            if arn not in discard and not kept.issuperset(urls)
        }
        if removed and (waiting := self._wait_until_empty(removed)):
            raise BucketcastError(_refusal(waiting))

    def _wait_until_empty(self, removed: Queues) -> dict[str, list[str]]:
        """Wait for empty queues; return texts about waiting messages by ARN after the timeout."""
        began = self.clock()
        empty_since: float | None = None
        while True:
            waiting = {
                arn: counts for arn, urls in removed.items() if (counts := self._counts(urls))
            }
            now = self.clock()
            if waiting:
                empty_since = None
                if now - began >= self.timeout:
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
        """Count a queue's messages, in flight and delayed too; 0 if it does not exist."""
        try:
            return depth(url, self.client).all
        except self.client.exceptions.QueueDoesNotExist:
            return 0


def _refusal(waiting: Mapping[str, Sequence[str]]) -> str:
    """Return the refusal, with the hint first: CloudFormation shows a thousand characters."""
    sentences = [
        f"{arn} is to be removed, and there are {' and '.join(counts)}"
        for arn, counts in waiting.items()
    ]
    return (
        "let waiting messages drain (`bucketcast target ls`), or keep their target with enable = "
        '"off"; to give them up, name the target in discard of [removed] in bucketcast.toml. '
        + "; ".join(sentences)
    )
