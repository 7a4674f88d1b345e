"""The table `[trail]`: the trail of CloudTrail that logs access events."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bucketcast.rules import trail_selectors
from bucketcast.rules.access_events import CALLS, PRICE
from bucketcast.settings.options import option
from bucketcast.settings.types import OnOff, matching
from bucketcast.targets.base.options import ValidationError

_A_BUCKET: Final = trail_selectors.min_values(1)


@dataclass(frozen=True, kw_only=True)
class TrailOptions:
    """The trail of all buckets with access events."""

    name: str = option(
        "name or ARN of an existing trail, whose other selectors stay; without it the deploy "
        "makes one, if a bucket has access_events",
        default="",
        example="everything",
        parse=matching(
            r"(arn:aws[a-z-]*:cloudtrail:[a-z0-9-]+:[0-9]{12}:trail/)?"
            r"[A-Za-z0-9][A-Za-z0-9._-]{1,126}[A-Za-z0-9]",
            "the name of a trail of the stack's account and region, or its ARN",
        ),
    )
    manage_selectors: OnOff = option(
        "let the trail log the calls that rules need; off if its owner selects what it logs",
        default="on",
    )
    bucket_events: OnOff = option(
        "also report the creation and removal of these buckets, for which an existing trail has to "
        "log management events that write; a second copy of these in an account and region costs "
        "$2.00 per 100,000",
        default="off",
    )

    def validation_errors(self) -> Iterator[ValidationError]:
        """Yield an error if nothing would select the events to log."""
        if not self.name and not self.manage_selectors:
            allowed = "allowed is off with a name only: the deploy's own trail has no other owner"
            yield "manage_selectors", "found 'off'", allowed


def notes(options: TrailOptions, logged: Sequence[str]) -> Iterator[str]:
    """Yield notes for the deploy on the buckets with access events."""
    if logged and not options.manage_selectors:
        yield (
            f"trail.manage_selectors: {', '.join(logged)}: events of {', '.join(CALLS)} come if "
            f"{options.name} logs them, which its owner decides"
        )
        return
    for name in logged:
        yield f"bucket.{name}.access_events: a trail logs the calls that rules need, at {PRICE}"
    if len(logged) * _A_BUCKET > trail_selectors.MOST_VALUES:
        yield (
            f"access_events of {len(logged)} buckets: a trail takes {trail_selectors.MOST_VALUES} "
            "values in its event selectors, so prefixes of rules may be dropped, and whole buckets "
            f"logged, each with any of the {len(CALLS)} calls that a rule of another asks for"
        )
    if options.name and options.bucket_events:
        yield (
            f"trail.bucket_events: the trail {options.name} has to log management events that "
            "write, which the deploy does not switch on"
        )
