"""The depth of a queue, as SQS counts it: approximately."""

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.literals import QueueAttributeNameType

COUNTS: "Final[tuple[QueueAttributeNameType, ...]]" = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


class Depth(NamedTuple):
    """The messages of a queue: those that can be received, those in flight, and delayed ones."""

    visible: int
    in_flight: int
    delayed: int

    @property
    def all(self) -> int:
        return sum(self)


def depth(url: str, client: "SQSClient") -> Depth:
    """Return how many messages a queue has.

    Raises:
        BotoCoreError, ClientError: SQS did not answer, or the queue does not exist.
    """
    found = client.get_queue_attributes(QueueUrl=url, AttributeNames=COUNTS)["Attributes"]
    return Depth(*(int(found.get(name, 0)) for name in COUNTS))
