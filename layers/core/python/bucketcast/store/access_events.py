"""Access events of a bucket, switched on and off from the command line."""

from bucketcast import access
from bucketcast.errors import BucketcastError
from bucketcast.store.access import Aws, explained
from bucketcast.store.deployed import Deployed
from bucketcast.store.ingress import EventRules, Ingress
from bucketcast.store.lock import Lock
from bucketcast.store.rules import Rules
from bucketcast.store.trail import Logged, Marks, Trail


class NoTrailError(BucketcastError):
    """There is no trail to log with."""


class AccessEvents:
    """What CloudTrail logs for the buckets of one deployment."""

    def __init__(self, there: Deployed, aws: Aws) -> None:
        self._there = there
        self._aws = aws
        self._rules = Rules(there.rules_table, aws.dynamodb)
        self._marks = Marks(there.rules_table, aws.dynamodb)

    def on(self, bucket: str, ingress: Ingress, trail: str = "") -> list[str]:
        """Let the calls that the bucket's rules ask for come; give what was changed, in words.

        Raises:
            NoTrailError: none is named, and the deployment has none.
            NotSelectableError: the trail's selectors cannot be shared.
            NotAdmittedError: EventBridge may not write to the queue.
            AwsError: AWS refused; what was added is taken out again.
        """
        name = trail or self._there.trail
        if not name:
            raise NoTrailError(
                "there is no trail to log access events with: name one of CloudTrail's with "
                f'--trail, or put access_events = "on" into [bucket.{bucket}] and deploy, which '
                "makes one"
            )
        rules = EventRules(ingress, self._aws)
        rule = access.rule_name(self._there.stack, bucket)
        made = rules.make(rule, f"Access events of bucket {bucket}", access.pattern(bucket))
        try:
            with explained():
                before = self._trail(name).follow(bucket, self._rules)
                self._marks.put(bucket, name)
        except BucketcastError:
            if made:
                rules.drop(rule)
            raise
        return [*made, *_said(before)]

    def off(self, bucket: str, ingress: Ingress) -> list[str]:
        """Let no access events of the bucket come any more; give what was changed, in words."""
        with explained():
            trail = self._marks.trail_of(bucket)
            if not trail:
                return []
            before = self._trail(trail).forget(bucket)
            self._marks.remove(bucket)
        rule = access.rule_name(self._there.stack, bucket)
        return [*_said(before), *EventRules(ingress, self._aws).drop(rule)]

    def are_on(self, bucket: str) -> bool:
        """Whether a trail logs what the bucket's rules ask for.

        Raises:
            AwsError: AWS cannot be asked.
        """
        with explained():
            return bool(self._of(bucket))

    def look(self, bucket: str) -> Logged | None:
        """What is asked for and what is logged; None where access events are off.

        Raises:
            AwsError: AWS cannot be asked.
        """
        with explained():
            trail = self._of(bucket)
            return self._trail(trail).look(bucket, self._rules) if trail else None

    def follow(self, bucket: str) -> Logged | None:
        """After a change of the bucket's rules; None where access events are off.

        Raises:
            NotSelectableError: the trail's selectors cannot be shared.
            AwsError: AWS refused.
        """
        with explained():
            trail = self._of(bucket)
            return self._trail(trail).follow(bucket, self._rules) if trail else None

    def _of(self, bucket: str) -> str:
        by_deploy = bucket in self._there.access_events
        return self._there.trail if by_deploy else self._marks.trail_of(bucket)

    def _trail(self, name: str) -> Trail:
        lock = Lock(self._there.rules_table, self._aws.dynamodb)
        return Trail(name, self._there.stack, self._aws.cloudtrail, lock, self._partition())

    def _partition(self) -> str:
        return self._aws.sqs.meta.partition


def _said(before: Logged) -> list[str]:
    if before.is_so:
        return []
    if before.asked.calls:
        calls = ", ".join(before.asked.calls)
        return [f"let the trail {before.trail} log {calls} ({access.PRICE})"]
    return [f"let the trail {before.trail} log none of the bucket's calls"]
