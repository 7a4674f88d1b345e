"""Who gets the events: a target, its queue and the rules that it has for the bucket."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bucketcast.arn import Arn
from bucketcast.conditions import METADATA, TAG, Condition
from bucketcast.errors import BucketcastError
from bucketcast.jobs import Backfill
from bucketcast.names import expand
from bucketcast.queues.address import queue_url
from bucketcast.rules import Rule
from glue_jobs import rules as rules_in_force

NAMES = frozenset({"s3:ObjectCreated:Put", "s3:ObjectCreated:CompleteMultipartUpload"})
"""What an event about an object that is there may be: nothing tells of a copy or a form."""


class NoRuleError(BucketcastError):
    """The target has no rule that could take such an event."""


@dataclass(frozen=True, slots=True)
class Receiver:
    """A target; `queue` is the URL of its queue, `rules` are those of one bucket."""

    arn: str
    queue: str
    fifo: bool
    rules: tuple[Rule, ...]


def receiver(given: Backfill) -> Receiver:
    """The target that a job was given, with its rules as they are now.

    Raises:
        BucketcastError: the ARN names no kind of target, or the table cannot be read.
        NoRuleError: no rule of the target asks for objects that were created in the bucket.
    """
    try:
        arn = Arn.parse(given.target)
        queue = queue_url(given.queues, arn, fifo=given.fifo)
    except ValueError as error:
        raise BucketcastError(f"--target: {error}") from None
    of_bucket = rules_in_force.of(given.bucket, given.rules)
    rules = tuple(rule for rule in of_bucket if rule.arn == arn.plain)
    if not any(takes(rule) for rule in rules):
        asked = sorted({name for rule in rules for name in rule.events})
        found = f"only rules for {', '.join(asked)}" if asked else "no rule"
        raise NoRuleError(
            f"{arn.plain} has {found} in {given.bucket}, so none for objects that were put: "
            f"bucketcast event add {given.bucket} {arn.plain} --event put"
        )
    return Receiver(arn.plain, queue, given.fifo, rules)


def takes(rule: Rule) -> bool:
    """Whether the rule asks for an event that can be made of an object."""
    return not NAMES.isdisjoint(single for name in rule.events for single in expand(name))


def unknown(rules: tuple[Rule, ...]) -> Iterator[str]:
    """Sentences about what the rules ask for and no listing says."""
    asked = [condition for rule in rules if takes(rule) for condition in rule.conditions]
    if facts := _on(asked, _of_object):
        yield f"a listing does not say {facts}: conditions on that counted as met"
    if who := _on(asked, lambda on: on in ("principal", "source_ip")):
        yield f"nobody knows {who} of an old upload: conditions on that counted as not met"


def _of_object(on: str) -> bool:
    return on == "content_type" or on.startswith((METADATA, TAG))


def _on(asked: list[Condition], wanted: Callable[[str], bool]) -> str:
    return ", ".join(sorted({each.on for each in asked if wanted(each.on)}))
