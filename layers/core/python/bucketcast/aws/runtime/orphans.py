"""Run-time targets and topics whose kind a deploy would leave without a function."""

import sys
from collections.abc import Collection, Sequence

from bucketcast.aws.runtime.table import Table
from bucketcast.aws.topics.table import TopicTable
from bucketcast.errors import BucketcastError
from bucketcast.topics.model import is_topics_target

_NAMED = 8


def require_functions(
    table: Table, topics: TopicTable, before: Collection[str], after: Collection[str]
) -> None:
    """Refuse to remove the functions of kinds that run-time targets or topics use.

    `before` and `after` are the kinds with functions in the stack. Removed targets that are kept
    for waiting messages do not count: their queues are read only once they are created again. A
    topic's target is removed with the topic.

    Raises:
        BucketcastError: there are such targets or topics.
        ClientError: DynamoDB refused.
    """

    def goes(kind: str) -> bool:
        return kind in before and kind not in after

    targets = [
        target
        for target in table.targets()
        if target.state != "kept" and goes(target.kind) and not is_topics_target(target.arn)
    ]
    pushed, _ = topics.page(None, sys.maxsize, keep=lambda topic: goes(topic.kind))
    if not targets and not pushed:
        return
    kinds = ", ".join(sorted({each.kind for each in targets} | {each.kind for each in pushed}))
    found = [
        *_said("run-time targets", "bucketcast target rm ARN", [each.arn for each in targets]),
        *_said("topics", "bucketcast topic rm ARN", [each.arn for each in pushed]),
    ]
    raise BucketcastError(
        f"[runtime] kinds leaves {kinds} out, and nobody would read the queues of "
        f"{' and '.join(found)}. Remove them, or name {kinds} in kinds"
    )


def _said(what: str, hint: str, arns: Sequence[str]) -> list[str]:
    if not arns:
        return []
    named = ", ".join(arns[:_NAMED])
    more = f" and {len(arns) - _NAMED} more" if len(arns) > _NAMED else ""
    return [f"the {what} {named}{more} (`{hint}`)"]
