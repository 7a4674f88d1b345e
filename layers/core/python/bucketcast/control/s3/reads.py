"""Rules whose events only CloudTrail knows, where nothing lets it log them."""

from collections.abc import Callable, Collection, Iterable

from bucketcast import access
from bucketcast.control.errors import S3Error
from bucketcast.rules import Rule


def demand_logged(
    wanted: Iterable[Rule], held: Collection[Rule], are_logged: Callable[[], bool]
) -> None:
    """Refuse a new rule that would never match; `are_logged` says whether a trail logs the bucket.

    A rule that asks for more besides, as what `mc event add` asks for unless told otherwise, is
    taken, and one that is there already may be written back.

    Raises:
        S3Error: there is such a rule.
    """
    there = {rule.id for rule in held}
    silent = [
        rule for rule in wanted if rule.id not in there and access.is_logged_only(rule.events)
    ]
    if silent and not are_logged():
        rule = silent[0]
        raise S3Error(
            "InvalidArgument",
            f"{', '.join(rule.events)}: S3 tells nobody of these, CloudTrail logs them "
            f'({access.PRICE}), and no trail does for {rule.bucket}: access_events = "on" in '
            f"[bucket.{rule.bucket}] and a deploy, or `bucketcast attach {rule.bucket} "
            "--access-events`, switch that on",
        )
