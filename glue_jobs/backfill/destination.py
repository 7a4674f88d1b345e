"""The destination of a backfill: a target, its queue and its rules for the bucket."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bucketcast.destination import TargetArn
from bucketcast.errors import BucketcastError
from bucketcast.event.names import expand
from bucketcast.rules import Rule
from bucketcast.rules.conditions import METADATA, TAG
from bucketcast.settings.pipeline import Sending
from glue_jobs.aws import read_rules

NAMES = frozenset({"s3:ObjectCreated:Put", "s3:ObjectCreated:CompleteMultipartUpload"})
"""The possible events of an existing object; a listing does not show copies or form posts."""


@dataclass(frozen=True, slots=True)
class Destination:
    """A target; `queue` is the URL of its queue, `rules` are those of one bucket."""

    arn: str
    queue: str
    rules: tuple[Rule, ...]


def find_destination(settings: Sending) -> Destination:
    """Return the target that a job sends to, with its current rules.

    Raises:
        BucketcastError: it is no ARN of a target, the table cannot be read, or no rule of the
            target matches one of `NAMES`.
    """
    try:
        arn = TargetArn.parse(settings.target)
    except ValueError as error:
        raise BucketcastError(f"--target: {error}") from None
    bucket_rules = read_rules(settings.bucket, settings.table)
    rules = tuple(rule for rule in bucket_rules if rule.arn == arn.plain)
    if not any(_matches(rule) for rule in rules):
        events = sorted({name for rule in rules for name in rule.events})
        existing = f"only rules for {', '.join(events)}" if events else "no rule"
        raise BucketcastError(
            f"{arn.plain} has {existing} in {settings.bucket}, so none for objects that were put: "
            f"bucketcast event add {settings.bucket} {arn.plain} --event put"
        )
    return Destination(arn.plain, settings.queue, rules)


def _matches(rule: Rule) -> bool:
    return not NAMES.isdisjoint(single for name in rule.events for single in expand(name))


def fact_notes(rules: tuple[Rule, ...]) -> Iterator[str]:
    """Yield a note if rules have conditions on facts that a listing does not show."""
    if facts := _subjects(rules, lambda on: on == "content_type" or on.startswith((METADATA, TAG))):
        yield f"a listing does not show {facts}: conditions on that counted as met"


def origin_notes(rules: tuple[Rule, ...]) -> Iterator[str]:
    """Yield a note if rules have conditions on who uploaded an object, which S3 does not tell."""
    if origin := _subjects(rules, lambda on: on in ("principal", "source_ip")):
        yield f"{origin} of an old upload is unknown: conditions on that counted as not met"


def _subjects(rules: tuple[Rule, ...], wanted: Callable[[str], bool]) -> str:
    conditions = (condition for rule in rules if _matches(rule) for condition in rule.conditions)
    return ", ".join(sorted({condition.on for condition in conditions if wanted(condition.on)}))
