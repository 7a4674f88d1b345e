"""Checks of rules before they are stored: the topic, the events and what ingest supports."""

from collections.abc import Callable, Collection, Iterable, Sequence

from bucketcast.aws.clients import Aws
from bucketcast.deployment import Deployed
from bucketcast.destination import TopicArn
from bucketcast.notifications.object_permission import missing_permission
from bucketcast.notifications.topic_configuration import WrongFilterError, check_memory
from bucketcast.rules import Rule, access_events, patterns
from bucketcast.topics.aws.table import TopicTable
from bucketcast.topics.permissions import is_allowed
from bucketcast.topics.policy import PUBLISH
from bucketcast.users import User
from bucketcast.web.errors import S3Error


def bindable(arn: str, user: User, deployment: Deployed, aws: Aws) -> str:
    """Return the ARN of a topic as stored, for any given region.

    Raises:
        S3Error: there is no such topic, or the user may not use it.
    """
    found = TopicTable(deployment.state_table, aws.dynamodb).topic(TopicArn.parse(arn))
    if found is None:
        raise S3Error("NoSuchKey", f"there is no topic {arn}", Key=arn)
    if not is_allowed(user, PUBLISH, found):
        raise S3Error("AccessDenied", f"{arn} is another's, and no policy allows {PUBLISH}")
    return found.arn


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


def check_supported(wanted: Sequence[Rule], stored: Sequence[Rule], deployment: Deployed) -> None:
    """Check that ingest supports the new rules.

    Raises:
        S3Error: it does not.
    """
    there_already = {rule.id for rule in stored}
    new = [rule for rule in wanted if rule.id not in there_already]
    for rule in new:
        if why := missing_permission(rule, deployment):
            raise S3Error("InvalidArgument", why)
    if any(map(patterns, new)):
        try:
            check_memory(wanted)
        except WrongFilterError as error:
            raise S3Error("InvalidArgument", str(error)) from None
