"""The URL of a target's queue, from its ARN."""

from bucketcast import targets
from bucketcast.destination import TargetArn
from bucketcast.queues import queue_name


def queue_url(prefix: str, arn: TargetArn, *, fifo: bool) -> str:
    """Return the URL of a target's queue; `prefix` is the part before the kind.

    Raises:
        ValueError: no kind has the ARN's type.
    """
    base, _, stack = prefix.removesuffix("-").rpartition("/")
    return f"{base}/{queue_name(stack, kind_of(arn), arn.id, fifo=fifo)}"


def kind_of(arn: TargetArn) -> str:
    """Return the kind of target that an ARN's type means. It imports no target.

    Raises:
        ValueError: no kind has this type.
    """
    if arn.kind in targets.kinds():
        return arn.kind
    raise ValueError(f"{arn}: no kind of target has the type '{arn.type}'")
