"""What becomes of that which holds something when its stack goes."""

from aws_cdk import RemovalPolicy


def removal_policy(*, keep: bool) -> RemovalPolicy:
    """Let it outlive its stack, where it is to `keep`, but not the roll-back of its making.

    Of a first deploy that fails nothing must be left: the next one would find the names taken, and
    what has no name of ours would lie there for ever.
    """
    return RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE if keep else RemovalPolicy.DESTROY
