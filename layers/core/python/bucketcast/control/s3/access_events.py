"""Refuse rules for access events that no trail logs."""

from collections.abc import Callable, Collection, Iterable

from bucketcast.control.errors import S3Error
from bucketcast.rules import Rule, access_events


def require_logged(
    wanted: Iterable[Rule], current: Collection[Rule], are_logged: Callable[[], bool]
) -> None:
    """Refuse a new rule that would never match; `are_logged` is whether a trail logs the bucket.

    A rule with other events too, such as the default of `mc event add`, is accepted, and a stored
    rule may be written back.

    Raises:
        S3Error: there is such a rule.
    """
    stored = {rule.id for rule in current}
    silent = [
        rule
        for rule in wanted
        if rule.id not in stored and access_events.is_logged_only(rule.events)
    ]
    if silent and not are_logged():
        rule = silent[0]
        raise S3Error(
            "InvalidArgument",
            f"{', '.join(rule.events)}: S3 does not notify of these, CloudTrail logs them "
            f"({access_events.PRICE}), and no trail does for {rule.bucket}: access_events = "
            f'"on" in [bucket.{rule.bucket}] and a deploy, or `bucketcast bucket attach '
            f"{rule.bucket} --access-events`, switch that on",
        )
