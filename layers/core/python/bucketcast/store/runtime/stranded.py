"""Run-time targets and topics whose kind a deploy would leave without a function."""

import sys
from collections.abc import Collection, Sequence

from bucketcast.errors import BucketcastError
from bucketcast.store.runtime.table import Table
from bucketcast.store.topics.items import Items
from bucketcast.topics.model import is_topics_target

_NAMED = 8


class StrandedError(BucketcastError):
    """A deploy would leave targets whose queues nobody reads; the text says what to do."""


def demand_functions(
    table: Table, topics: Items, before: Collection[str] | None, after: Collection[str]
) -> None:
    """Refuse to take the functions of kinds away that run-time targets or topics are of.

    `before` and `after` are the kinds that the stack has functions for; None is not known, and
    counts as all. Targets that were removed and are kept for what waits do not count: theirs is
    read again only when they are made again. The target of a topic goes with the topic.

    Raises:
        StrandedError: there are such targets or topics.
        ClientError: DynamoDB cannot be asked.
    """

    def goes(kind: str) -> bool:
        return bool(kind) and kind not in after and (before is None or kind in before)

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
    raise StrandedError(
        f"[runtime] kinds leaves {kinds} out, and nobody would read the queues of "
        f"{' and '.join(found)}. Remove them, or name {kinds} in kinds"
    )


def _said(what: str, cure: str, arns: Sequence[str]) -> list[str]:
    if not arns:
        return []
    named = ", ".join(arns[:_NAMED])
    more = f" and {len(arns) - _NAMED} more" if len(arns) > _NAMED else ""
    return [f"the {what} {named}{more} (`{cure}`)"]
