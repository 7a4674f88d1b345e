"""Checks of new rules: their topic, their events, their size, and the limits of ingest."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from bucketcast import limits
from bucketcast.aws.clients import Aws
from bucketcast.deployment import Deployed
from bucketcast.destination import TopicArn
from bucketcast.limits import MOST_FILTER_BYTES, MOST_ID_CHARACTERS
from bucketcast.notifications.aws.checks import missing_permission
from bucketcast.notifications.not_sent import not_sent
from bucketcast.rules import Rule, access_events, cost
from bucketcast.rules.sent_events import Part
from bucketcast.state.dynamic_targets import Table
from bucketcast.topics.permissions import is_allowed
from bucketcast.topics.policy import PUBLISH
from bucketcast.users import User
from bucketcast.web.errors import S3Error


def stored_topic_arn(arn: str, user: User, deployment: Deployed, aws: Aws) -> str:
    """Return the stored ARN of a topic that the user may publish to, ignoring the region.

    Raises:
        S3Error: the topic does not exist, or the user may not use it.
    """
    topic = Table(deployment.state_table, aws.dynamodb).topic(TopicArn.parse(arn))
    if topic is None:
        raise S3Error("NoSuchKey", f"there is no topic {arn}", Key=arn)
    if not is_allowed(user, PUBLISH, topic):
        raise S3Error("AccessDenied", f"{arn} is another's, and no policy allows {PUBLISH}")
    return topic.arn


def require_logged(
    wanted: Iterable[Rule], current: Collection[Rule], logged: Collection[str]
) -> None:
    """Refuse new rules for access events only of which none is `logged` for their bucket.

    Accept rules that also have other events, as by default in `mc event add`, and stored ones.

    Raises:
        S3Error: a new rule would never match.
    """
    for rule in _new_rules(wanted, current):
        if access_events.not_logged(rule.events, logged) == list(rule.events):
            hint = access_events.hint(rule.bucket, rule.events, logged)
            raise S3Error(
                "InvalidArgument",
                f"{hint}; if another trail logs them, use `bucketcast event add`",
            )


def check_size(wanted: Sequence[Rule], stored: Sequence[Rule]) -> None:
    """Check the sizes of new rules, and how many there are: S3's limits, or close to them.

    Each rule is read by ingest for each change, and a notification's Id goes with each event.

    Raises:
        S3Error: a rule is too large, or there are too many.
    """
    tenants, before = (
        Counter(rule.to.tenant for rule in rules if isinstance(rule.to, TopicArn))
        for rules in (wanted, stored)
    )
    most, of_tenant = limits.MOST_BUCKET_NOTIFICATIONS, limits.MOST_TENANT_NOTIFICATIONS
    if tenants.total() > max(most, before.total()) or any(
        number > max(of_tenant, before[tenant]) for tenant, number in tenants.items()
    ):
        raise S3Error(
            "InvalidArgument",
            f"{tenants.total():,} notifications of topics for {wanted[0].bucket}; allowed are "
            f"{most:,}, of one tenant {of_tenant}",
        )
    for rule in _new_rules(wanted, stored):
        if max(len(rule.name), len(rule.label)) > MOST_ID_CHARACTERS:
            raise S3Error("InvalidArgument", f"Id: allowed are {MOST_ID_CHARACTERS} characters")
        values = (
            rule.prefix,
            rule.suffix,
            *(v for c in rule.conditions for v in (c.on, *c.values)),
        )
        if any(len(value.encode("utf-8", "surrogatepass")) > MOST_FILTER_BYTES for value in values):
            raise S3Error(
                "InvalidArgument",
                f"a filter's name or value: allowed are {MOST_FILTER_BYTES:,} bytes",
            )


def require_sent(
    wanted: Iterable[Rule], stored: Collection[Rule], parts: Sequence[Part], deployment: Deployed
) -> None:
    """Refuse new rules for events that a bucket does not send, as they would never match.

    Raises:
        S3Error: a new rule asks for more than the parts.
    """
    if reason := not_sent(_new_rules(wanted, stored), parts, deployment.buckets):
        raise S3Error("InvalidArgument", reason)


def _new_rules(wanted: Iterable[Rule], stored: Iterable[Rule]) -> list[Rule]:
    """Return the rules that become active: those that are stay, whatever the checks say."""
    known = {rule.id for rule in stored if not rule.disabled}
    return [rule for rule in wanted if not rule.disabled and rule.id not in known]


def check_supported(wanted: Sequence[Rule], stored: Sequence[Rule], deployment: Deployed) -> None:
    """Check that ingest supports the new rules.

    Raises:
        S3Error: it may not read the objects.
        BucketcastError: the rules cost too much.
    """
    new = _new_rules(wanted, stored)
    for rule in new:
        if reason := missing_permission(rule, deployment):
            raise S3Error("InvalidArgument", reason)
    if new:
        cost.check(wanted)
