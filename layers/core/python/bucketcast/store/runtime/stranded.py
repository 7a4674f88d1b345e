"""Run-time targets whose kind a deploy would leave without a function."""

from collections.abc import Collection

from bucketcast.errors import BucketcastError
from bucketcast.store.runtime.table import Table

_NAMED = 8


class StrandedError(BucketcastError):
    """A deploy would leave targets whose queues nobody reads; the text says what to do."""


def demand_functions(table: Table, before: Collection[str] | None, after: Collection[str]) -> None:
    """Refuse to take the functions of kinds away that run-time targets are of.

    `before` and `after` are the kinds that the stack has functions for; None is not known, and
    counts as all. Targets that were removed and are kept for what waits do not count: theirs is
    read again only when they are made again.

    Raises:
        StrandedError: there are such targets.
        ClientError: DynamoDB cannot be asked.
    """
    stranded = [
        target
        for target in table.targets()
        if target.state != "kept"
        and target.kind not in after
        and (before is None or target.kind in before)
    ]
    if not stranded:
        return
    kinds = ", ".join(sorted({target.kind for target in stranded}))
    named = ", ".join(target.arn for target in stranded[:_NAMED])
    more = f" and {len(stranded) - _NAMED} more" if len(stranded) > _NAMED else ""
    raise StrandedError(
        f"[runtime] kinds leaves {kinds} out, and there are run-time targets of it, whose queues "
        f"nobody would read: {named}{more}. Remove them (`bucketcast target rm ARN`), or name "
        f"{kinds} in kinds"
    )
