"""Checks of new rules: their topic, their events, and the limits of ingest."""

from collections.abc import Callable, Collection, Iterable, Sequence

from bucketcast.aws.clients import Aws
from bucketcast.deployment import Deployed
from bucketcast.destination import TopicArn
from bucketcast.notifications.aws.checks import missing_permission
from bucketcast.notifications.topic_configuration import WrongFilterError, check_memory
from bucketcast.rules import Rule, access_events, patterns
from bucketcast.topics.aws.table import TopicTable
from bucketcast.topics.permissions import is_allowed
from bucketcast.topics.policy import PUBLISH
from bucketcast.users import User
from bucketcast.web.errors import S3Error


def stored_topic_arn(arn: str, user: User, deployment: Deployed, aws: Aws) -> str:
    """Return the stored ARN of a topic that the user may publish to, ignoring the region.

    Raises:
        S3Error: the topic does not exist, or the user may not use it.
    """
    topic = TopicTable(deployment.state_table, aws.dynamodb).topic(TopicArn.parse(arn))
    if topic is None:
        raise S3Error("NoSuchKey", f"there is no topic {arn}", Key=arn)
    if not is_allowed(user, PUBLISH, topic):
        raise S3Error("AccessDenied", f"{arn} is another's, and no policy allows {PUBLISH}")
    return topic.arn


def require_logged(
    wanted: Iterable[Rule], current: Collection[Rule], are_logged: Callable[[], bool]
) -> None:
    """Refuse new rules for access events only, unless `are_logged` says that a trail logs them.

    Accept rules that also have other events, as by default in `mc event add`, and stored ones.

    Raises:
        S3Error: a new rule would never match.
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
        S3Error: it may not read the objects, or the regular expressions are too large.
    """
    stored_ids = {rule.id for rule in stored}
    new = [rule for rule in wanted if rule.id not in stored_ids]
    for rule in new:
        if reason := missing_permission(rule, deployment):
            raise S3Error("InvalidArgument", reason)
    if any(map(patterns, new)):
        try:
            check_memory(wanted)
        except WrongFilterError as error:
            raise S3Error("InvalidArgument", str(error)) from None
