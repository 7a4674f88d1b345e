"""The names of functions and queues, and the URL of a target's queue from its ARN."""

from bucketcast import targets
from bucketcast.delivery.policy import FIFO, keeps_order
from bucketcast.destination import TargetArn

ONCE = "once"
"""The end of the name of the queue that all non-persistent topics of a kind share."""

DEAD_END = "-dead"
"""The end of the name of a dead-letter queue, before the suffix of a FIFO queue."""

TOKEN_LENGTH = 6
"""Hex digits at the end of a queue's name, new ones each time that a target is created.

SQS refuses a name for 60 seconds after a queue of that name was deleted.
"""


def queue_url(queues: str, arn: TargetArn) -> str:
    """Return the URL of a target's queue; `queues` is that of every target's, with a `*`.

    Raises:
        ValueError: no kind has the ARN's type.
    """
    return queues.replace("*", f"{kind_of(arn)}-{arn.id}")


def kind_of(arn: TargetArn) -> str:
    """Return the kind of target that an ARN's type means, without importing it.

    Raises:
        ValueError: no kind has this type.
    """
    if arn.kind in targets.kinds():
        return arn.kind
    raise ValueError(f"{arn}: no kind of target has the type '{arn.type}'")


def target_name(stack: str, kind: str, id: str) -> str:  # noqa: A002 - MinIO's word
    """Return the name of a target's function and queues, without the suffixes."""
    return f"{stack}-{kind}-{id}"


def base_name(queue: str) -> str:
    """Return a queue's name without the suffix of a FIFO queue."""
    return queue.removesuffix(FIFO)


def dead_of(queue: str) -> str:
    """Return the name, URL or ARN of a queue's dead-letter queue, by the queue's own."""
    return f"{base_name(queue)}{DEAD_END}{queue[len(base_name(queue)) :]}"


def order(queue: str) -> dict[str, str]:
    """Return the attributes of a FIFO queue, if the name is of one; else none."""
    return {"FifoQueue": "true"} if keeps_order(queue) else {}


def encryption(key: str) -> dict[str, str]:
    """Return a queue's attributes for a customer's key by its ARN, or for SQS's own if it is ""."""
    return {"KmsMasterKeyId": key} if key else {"SqsManagedSseEnabled": "true"}


def once_queue(prefix: str, kind: str) -> str:
    """Return the name of the `ONCE` queue; `prefix` begins the names of all dynamic queues."""
    return f"{prefix}{kind}-{ONCE}"


def key_of(queue: str, prefix: str, kind: str) -> str:
    """Return the key of the dynamic target of a queue: of a target of this kind, or of a topic.

    `prefix` begins the names of all.
    """
    name = base_name(queue.removeprefix(prefix))[: -TOKEN_LENGTH - 1]
    return name.replace("-", ":", 1) if name.startswith(f"{kind}-") else name
