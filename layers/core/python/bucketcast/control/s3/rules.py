"""Configurations of S3's API and rules are the same thing, written in two ways.

What a rule can say and S3's XML cannot (conditions, a name) hangs on the rule's id: a client that
reads, changes and writes a document, as `mc event add` does, gives it back and changes nothing.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from bucketcast.control.s3.document import Queue
from bucketcast.rules import Rule

OURS: Final = "bucketcast:"
"""How the `Id` begins that stands for a rule which S3's XML cannot express."""


def configuration(rule: Rule) -> Queue:
    """A rule as S3's API shows it."""
    values = {"prefix": rule.prefix, "suffix": rule.suffix}
    usual = tuple(name for name, value in values.items() if value)
    filters = tuple((name, values[name]) for name in rule.filters or usual)
    beyond = f"{OURS}{rule.id}" if rule.conditions or rule.name else rule.label
    return Queue(rule.arn, rule.events, filters, beyond)


def rules(bucket: str, queues: Sequence[Queue], held: Iterable[Rule]) -> list[Rule]:
    """The rules that a document asks for, with what those of `held` that it names ask beyond it."""
    beyond = {f"{OURS}{rule.id}": rule for rule in held if rule.conditions or rule.name}
    made = (_rule(bucket, queue, beyond.get(queue.id)) for queue in queues)
    # With and without a region is twice the same.
    return list(dict.fromkeys(made))


def _rule(bucket: str, queue: Queue, kept: Rule | None) -> Rule:
    values = dict(queue.filters)
    usual = tuple(name for name in ("prefix", "suffix") if values.get(name))
    given = tuple(name for name, _ in queue.filters)
    return Rule(
        bucket=bucket,
        arn=queue.arn,
        events=queue.events,
        prefix=values.get("prefix", ""),
        suffix=values.get("suffix", ""),
        conditions=kept.conditions if kept else (),
        name=kept.name if kept else "",
        label=kept.label if kept else queue.id,
        filters=() if given == usual else given,
    )
