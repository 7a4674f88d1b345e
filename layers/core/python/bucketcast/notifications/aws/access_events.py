"""Access events of a bucket, enabled and disabled from the command line."""

from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.deployment import Deployed
from bucketcast.errors import BucketcastError
from bucketcast.notifications.aws.ingress import EventRules, Ingress
from bucketcast.notifications.aws.trail import AttachedTrails, Logged, OwnersTrail, Trail
from bucketcast.notifications.eventbridge import access_pattern, access_rule_name
from bucketcast.rules import access_events, trail_selectors
from bucketcast.state.lock import Lock
from bucketcast.state.rules import Rules


class AccessEvents:
    """The access events of the buckets of one deployment."""

    def __init__(self, deployment: Deployed, aws: Aws) -> None:
        self._deployment = deployment
        self._aws = aws
        self._rules = Rules(deployment.state_table, aws.dynamodb)
        self._attached = AttachedTrails(deployment.state_table, aws.dynamodb)

    def enable(self, bucket: str, ingress: Ingress, trail: str = "") -> list[str]:
        """Log the calls that the bucket's rules need; return the changes as texts.

        Raises:
            BucketcastError: the call names no trail, and the deployment has none; the trail's
                selectors cannot be shared; or EventBridge may not write to the queue.
            AwsError: AWS refused; the additions are undone.
        """
        name = trail or self._deployment.trail
        if not name:
            raise BucketcastError(
                "there is no trail to log access events with: name one of CloudTrail's with "
                f'--trail, or put access_events = "on" into [bucket.{bucket}] and deploy, which '
                "makes one"
            )
        rules = EventRules(ingress, self._aws)
        rule = access_rule_name(self._deployment.stack, bucket)
        pattern = access_pattern(bucket, bucket_events=self._deployment.bucket_events)
        created = rules.create(rule, f"Access events of bucket {bucket}", pattern)
        try:
            with aws_errors():
                after = self._trail(name).follow(bucket, self._rules)
                self._attached.put(bucket, name)
        except BucketcastError:
            if created:
                rules.remove(rule)
            raise
        return [*created, *_describe_change(after)]

    def disable(self, bucket: str, ingress: Ingress) -> list[str]:
        """Stop the bucket's access events; return the changes as texts."""
        with aws_errors():
            trail = self._attached.trail_of(bucket)
            if not trail:
                return []
            after = self._trail(trail).remove(bucket)
            self._attached.remove(bucket)
        rule = access_rule_name(self._deployment.stack, bucket)
        return [*_describe_change(after), *EventRules(ingress, self._aws).remove(rule)]

    def are_enabled(self, bucket: str) -> bool:
        """Return True if a trail logs the calls that the bucket's rules need.

        Raises:
            AwsError: AWS cannot be reached.
        """
        with aws_errors():
            return bool(self._of(bucket))

    def read(self, bucket: str) -> Logged | None:
        """Return the required and logged calls; None if access events are off.

        Raises:
            AwsError: AWS cannot be reached.
        """
        with aws_errors():
            trail = self._of(bucket)
            return self._trail(trail).read(bucket, self._rules) if trail else None

    def follow(self, bucket: str) -> Logged | None:
        """Update the trail after a change of the bucket's rules; None if access events are off.

        Raises:
            BucketcastError: the trail's selectors cannot be shared.
            AwsError: AWS refused.
        """
        with aws_errors():
            trail = self._of(bucket)
            return self._trail(trail).follow(bucket, self._rules) if trail else None

    def _of(self, bucket: str) -> str:
        by_deploy = bucket in self._deployment.access_events
        return self._deployment.trail if by_deploy else self._attached.trail_of(bucket)

    def _trail(self, name: str) -> Trail | OwnersTrail:
        if name == self._deployment.trail and not self._deployment.trail_selectors:
            return OwnersTrail(name)
        lock = Lock(self._deployment.state_table, self._aws.dynamodb)
        return Trail(name, self._deployment.stack, self._aws.cloudtrail, lock, self._partition())

    def _partition(self) -> str:
        return self._aws.sqs.meta.partition


def owners_task(after: Logged) -> str:
    """Return a text about the calls that the trail's owner has to select."""
    calls = ", ".join(after.required.calls) or "the calls that rules need"
    return f"the trail {after.trail} has to log {calls}, which only its owner can select"


def _describe_change(logged: Logged) -> list[str]:
    if not logged.managed:
        return [owners_task(logged)]
    if not logged.changed:
        return []
    if not logged.logged:
        return [f"let the trail {logged.trail} log none of the bucket's calls"]
    calls = ", ".join(logged.logged.calls)
    return [
        f"let the trail {logged.trail} log {calls} ({access_events.PRICE}){describe_excess(logged)}"
    ]


def describe_excess(after: Logged) -> str:
    """Return a note if the trail logs more than the rules need, else ""."""
    if not after.is_wider:
        return ""
    most = trail_selectors.MOST_VALUES
    return f", more than the rules ask for: a trail takes {most} values in its event selectors"
