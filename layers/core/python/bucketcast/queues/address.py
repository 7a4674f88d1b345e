"""Where a target's queue is, for who knows its ARN."""

from bucketcast import targets
from bucketcast.arn import Arn
from bucketcast.queues import queue_name


def queue_url(prefix: str, arn: Arn, *, fifo: bool) -> str:
    """The URL of a target's queue; `prefix` is that of every target's, up to its kind.

    Raises:
        ValueError: no kind has the ARN's type.
    """
    base, _, stack = prefix.removesuffix("-").rpartition("/")
    return f"{base}/{queue_name(stack, kind_of(arn), arn.id, fifo=fifo)}"


def kind_of(arn: Arn) -> str:
    """The kind behind an ARN's type, which MinIO spells in its own way for PostgreSQL.

    Raises:
        ValueError: no kind has this type.
    """
    for kind in targets.kinds():
        if targets.load(kind).arn_type == arn.type:
            return kind
    raise ValueError(f"{arn}: no kind of target has the type '{arn.type}'")
