"""The ingress queue's policy, and the EventBridge rules that write to the queue."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from bucketcast.aws.clients import Aws
from bucketcast.delivery.queue_names import dead_of
from bucketcast.deployment import Deployed
from bucketcast.errors import BucketcastError
from bucketcast.notifications.policy import Caller, allows

_TARGET: Final = "ingress"
_A_DAY: Final = 86_400
_TRIES: Final = 185


@dataclass(frozen=True, slots=True)
class Ingress:
    """The ingress queue with its ARN and policy."""

    queue: str
    policy: str

    @classmethod
    def of(cls, deployment: Deployed, aws: Aws) -> Self:
        """Read the queue's attributes from SQS.

        Raises:
            BotoCoreError, ClientError: AWS cannot be reached.
        """
        attributes = aws.sqs.get_queue_attributes(
            QueueUrl=deployment.ingress_queue, AttributeNames=["QueueArn", "Policy"]
        )["Attributes"]
        return cls(attributes["QueueArn"], attributes.get("Policy", ""))

    @property
    def region(self) -> str:
        return self.queue.split(":")[3]

    @property
    def account(self) -> str:
        return self.queue.split(":")[4]

    @property
    def callers(self) -> Mapping[str, Caller]:
        """S3 and EventBridge, as they write for this account's buckets and this stack's rules."""
        _, partition, _, region, account, name = self.queue.split(":")
        rules = f"rule/{name.removesuffix('ingress')}*"
        events = f"arn:{partition}:events:{region}:{account}:{rules}"
        return {
            "s3": Caller("s3.amazonaws.com", f"arn:{partition}:s3:::*", account),
            "events": Caller("events.amazonaws.com", events),
        }

    def require_allowed(self, service: str, *, validated: bool = False) -> None:
        """Check the policy, since S3 and EventBridge silently drop what a queue refuses.

        Raises:
            BucketcastError: it does not allow a caller to write, or this is unclear and S3 has not
                `validated` it.
        """
        caller = self.callers[service]
        allowed = allows(self.policy, caller, "sqs:SendMessage", self.queue)
        if not (allowed or (validated and allowed is None)):
            does = "may" if allowed is None else "does"
            raise BucketcastError(
                f"the policy of {self.queue} {does} not let {caller.service} write: write it "
                "again, as the stack's template has it"
            )


def has_rule(name: str, aws: Aws) -> bool:
    """Return True if EventBridge has a rule of this name."""
    events = aws.events
    try:
        events.describe_rule(Name=name)
    except events.exceptions.ResourceNotFoundException:
        return False
    return True


class EventRules:
    """The rules of EventBridge that write to the ingress queue."""

    def __init__(self, ingress: Ingress, aws: Aws) -> None:
        self._ingress = ingress
        self._aws = aws

    def has(self, name: str) -> bool:
        return has_rule(name, self._aws)

    def states(self) -> dict[str, str]:
        """Return the states of the rules that write to the queue, by the bucket they are about.

        Of several rules about a bucket an enabled one counts.
        """
        states: dict[str, str] = {}
        events = self._aws.events
        lists = events.get_paginator("list_rule_names_by_target")
        pages = lists.paginate(TargetArn=self._ingress.queue)
        for name in (name for page in pages for name in page["RuleNames"]):
            try:
                rule = events.describe_rule(Name=name)
            except events.exceptions.ResourceNotFoundException:
                continue  # removed meanwhile; the local AWS names those of other buses too
            detail = json.loads(rule.get("EventPattern") or "{}").get("detail", {})
            names = detail.get("bucket", {}).get("name", ())
            for bucket in (name for name in names if isinstance(name, str)):
                if states.get(bucket) != "ENABLED":
                    states[bucket] = rule["State"]
        return states

    def create(self, name: str, description: str, pattern: Mapping[str, Any]) -> list[str]:
        """Create or correct the rule; return the additions as texts.

        Raises:
            BucketcastError: the queue's policy does not allow the rule to write to it.
            BotoCoreError, ClientError: AWS refused.
        """
        self._ingress.require_allowed("events")
        existed = self.has(name)
        self._aws.events.put_rule(
            Name=name,
            Description=description,
            EventPattern=json.dumps(pattern),
            State="ENABLED",
        )
        self._aws.events.put_targets(Rule=name, Targets=[self._target()])
        return [] if existed else [f"added the EventBridge rule {name}"]

    def remove(self, name: str) -> list[str]:
        """Remove the rule, if it exists; return the removals as texts."""
        if not self.has(name):
            return []
        self._aws.events.remove_targets(Rule=name, Ids=[_TARGET])
        self._aws.events.delete_rule(Name=name)
        return [f"removed the EventBridge rule {name}"]

    def _target(self) -> Any:
        return {
            "Id": _TARGET,
            "Arn": self._ingress.queue,
            "DeadLetterConfig": {"Arn": dead_of(self._ingress.queue)},
            "RetryPolicy": {"MaximumEventAgeInSeconds": _A_DAY, "MaximumRetryAttempts": _TRIES},
        }
