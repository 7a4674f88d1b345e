"""Attach the configured buckets to the ingress queue; other entries in their notifications stay."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Final

from aws_cdk import CfnOutput, CustomResource, Duration, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct, IDependable

from bucketcast.config import Bucket, Deployment
from bucketcast.deployment import TAKES_EFFECT
from bucketcast.notifications import document as notifications
from bucketcast.notifications.aws import cutover
from bucketcast.notifications.eventbridge import (
    access_pattern,
    pattern,
    within_rule_name,
)
from bucketcast.state import lock
from bucketcast_cdk import eventbridge, limits, nag
from bucketcast_cdk.arns import arn, bucket_arn
from bucketcast_cdk.context import Context
from bucketcast_cdk.dynamic_targets import DynamicTargets
from bucketcast_cdk.function import Function
from bucketcast_cdk.ingest import Ingest
from bucketcast_cdk.permissions import leading_keys
from bucketcast_cdk.trail import SELECTORS, trail_name

_TIMEOUT: Final = Duration.minutes(4)
# Should the function not even start, CloudFormation gives up then; its own default is an hour.
_SERVICE_TIMEOUT: Final = Duration.minutes(5)
_AT_ONCE: Final = Duration.seconds(0)
# SQS's counts are right a minute after the last message came, here at once.
_SETTLE: Final = 60
_SETTLE_HERE: Final = 5

TARGETS: Final = "Custom::Targets"


class Attachments(Construct):
    """The function behind the custom resources, and one `AttachedBucket` a configured bucket."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        context: Context,
        *,
        trail: str | None,
        ingest: Ingest,
        labels: Mapping[str, str],
    ) -> None:
        """Attach the configured buckets, and let those with reports send events to EventBridge.

        `trail` is the ARN of what logs access events, `labels` are words for buckets whose names
        only the deploy knows.
        """
        super().__init__(scope, construct_id)
        config = context.config
        self._context = context
        self._ingest = ingest
        self._labels = labels
        # The S3 of one machine heeds a change at once.
        self._overlap = _AT_ONCE if context.local else Duration.seconds(TAKES_EFFECT)
        policies: list[IDependable] = [self._policy]
        if config.trail.name and trail and config.trail.manage_selectors:
            policies.append(self._trail_policy(config.trail.name, trail))
        reports = limits.report_buckets(config.scans)
        if notified := {*config.buckets, *reports}:
            policies.append(self._notifications_policy(notified))
        for name, bucket in config.buckets.items():
            AttachedBucket(
                self,
                self._label(name),
                context,
                name=name,
                bucket=bucket,
                trail=trail if bucket.access_events else None,
                custom_resources=self._custom_resources,
                ingest=ingest,
                overlap=self._overlap,
                policies=policies,
            )
        for name in reports:
            self._send_to_eventbridge(name, policies)

    @property
    def takes_effect(self) -> str:
        """Return after how many seconds S3 has heeded a change."""
        return str(self._overlap.to_seconds())

    def _label(self, bucket: str) -> str:
        """Return what ids and names are made of."""
        return self._labels.get(bucket, bucket)

    def _send_to_eventbridge(self, bucket: str, policies: Sequence[IDependable]) -> None:
        """Let S3 send a bucket's events to EventBridge, none of them for ingest."""
        ours = {"Id": f"{Stack.of(self).stack_name}-reports", "Via": "eventbridge"}
        scope = Construct(self, f"Reports-{self._label(bucket)}")
        entry = _entry(
            scope, bucket, ours, custom_resources=self._custom_resources, ingest=self._ingest
        )
        entry.node.add_dependency(*policies)
        if attached := self.node.try_find_child(self._label(bucket)):
            entry.node.add_dependency(attached)  # each reads the whole document and writes it back

    def protect_waiting_events(
        self,
        queues: Mapping[str, tuple[str, str]],
        discard: Sequence[str],
        kinds: Sequence[str],
        dynamic: DynamicTargets,
    ) -> None:
        """Refuse a deploy that would remove a target, by its ARN, while its events wait.

        Or the function of a kind of which there are dynamic targets; `kinds` are those that stay.

        One resource for all, and in every stack, since CloudFormation calls a resource that is
        removed only when it is too late to refuse. There are two: one before ingest's function
        changes, since from then on the target's events go nowhere, even if the deploy is then
        refused; and one after that, when no more events come. The functions of `dynamic` are
        changed after the first, which prepares their queues.
        """
        scope = Construct(self, "Targets")
        policy = self._queues_policy(scope, dynamic.queues)
        timeout = _SETTLE_HERE if self._context.local else _SETTLE
        hidden = {
            "DynamicQueues": self._ingest.queues,
            "DynamicVisibility": str(dynamic.visibility),
        }
        before, after = (
            CustomResource(
                scope,
                name,
                resource_type=TARGETS,
                service_token=self._custom_resources.function.function_arn,
                service_timeout=_SERVICE_TIMEOUT.plus(self._overlap),
                properties={
                    "Queues": {arn: list(urls) for arn, urls in queues.items()},
                    "Discard": list(discard),
                    "Kinds": list(kinds),
                    "StateTable": self._ingest.table.table_name,
                    **(hidden if dynamic.queues else {}),
                    "Settle": str(settle),
                    "Timeout": str(timeout),
                },
            )
            for name, settle in (("Before", 0), ("After", timeout))
        )
        before.node.add_dependency(policy, self._policy)
        self._ingest.writer.node.add_dependency(before)
        dynamic.wait_for(before)
        after.node.add_dependency(policy, self._policy, self._ingest.writer)

    def _queues_policy(self, scope: Construct, dynamic_queues: str) -> iam.Policy:
        """Return the permissions to count waiting messages, and to prepare dynamic queues."""
        # The queues of removed targets are in no template any more.
        ours = arn(self, "sqs", f"{Stack.of(self).stack_name}-*")
        policy = iam.Policy(
            scope,
            "Policy",
            roles=[self._custom_resources.role],
            statements=[
                iam.PolicyStatement(actions=["sqs:GetQueueAttributes"], resources=[ours]),
            ],
        )
        nag.accept_wildcards(policy, [ours], nag.REMOVED_QUEUES)
        if dynamic_queues:
            policy.add_statements(
                iam.PolicyStatement(actions=["sqs:SetQueueAttributes"], resources=[dynamic_queues])
            )
            nag.accept_wildcards(policy, [dynamic_queues], nag.MADE_LATER)
        return policy

    @cached_property
    def _policy(self) -> iam.Policy:
        """The permissions to store attachments, to set our trail's selectors, to see a rollback.

        Once for all buckets, since IAM limits the size of a role's policies. The same with
        and without access events: where they are switched off, or their bucket goes, the trail is
        told after the policies have changed. The buckets are attached at the same time and their
        trail is one: hence the lock.
        """
        stack = Stack.of(self)
        table = self._ingest.table.table_arn
        trail = arn(self, "cloudtrail", f"trail/{trail_name(stack.stack_name)}")
        return iam.Policy(
            self,
            "Rights",
            roles=[self._custom_resources.role],
            statements=[
                iam.PolicyStatement(
                    actions=["dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem"],
                    resources=[table],
                    conditions=leading_keys(cutover.KEY, lock.KEY),
                ),
                iam.PolicyStatement(actions=["dynamodb:Query"], resources=[table]),
                iam.PolicyStatement(actions=list(SELECTORS), resources=[trail]),
                iam.PolicyStatement(
                    actions=["cloudformation:DescribeStacks"], resources=[stack.stack_id]
                ),
            ],
        )

    def _trail_policy(self, name: str, trail: str) -> iam.Policy:
        """Return the permissions on a trail that is named; the policy's id is derived from that.

        Where another is named there is a new policy, and CloudFormation removes the old one only
        after the selectors of the earlier trail were changed.
        """
        digest = hashlib.blake2b(name.encode(), digest_size=4).hexdigest()
        statement = iam.PolicyStatement(actions=list(SELECTORS), resources=[trail])
        return iam.Policy(
            self, f"Trail-{digest}", roles=[self._custom_resources.role], statements=[statement]
        )

    @cached_property
    def _custom_resources(self) -> Function:
        """The function behind the custom resources.

        A request is given to it once: tried again minutes later, as Lambda does by default, it
        would write what a deploy wanted that is rolled back meanwhile.
        """
        made = Function(
            self,
            "CustomResources",
            self._context,
            name=f"{Stack.of(self).stack_name}-custom-resources",
            folder="custom_resources",
            layers=self._context.assets.shared(),
            environment={},
            memory=256,
            timeout=_TIMEOUT.plus(self._overlap),
        )
        made.function.configure_async_invoke(retry_attempts=0, max_event_age=_SERVICE_TIMEOUT)
        return made

    def _notifications_policy(self, buckets: Collection[str]) -> iam.ManagedPolicy:
        """Return the permission to write the notifications of buckets.

        The policy's id is derived from the buckets. So when one leaves the configuration there
        is a new policy, and CloudFormation removes the old one only after the bucket's entry, which
        depends on it, was removed.
        """
        names = sorted(buckets, key=self._label)
        labels = "/".join(map(self._label, names))
        digest = hashlib.blake2b(labels.encode(), digest_size=4).hexdigest()
        return iam.ManagedPolicy(
            self,
            f"Buckets-{digest}",
            roles=[self._custom_resources.role],
            description="The notifications of the buckets of a configuration",
            statements=[
                iam.PolicyStatement(
                    actions=["s3:GetBucketNotification", "s3:PutBucketNotification"],
                    resources=[bucket_arn(self, name) for name in names],
                )
            ],
        )


class AttachedBucket(Construct):
    """One bucket, made here or found."""

    def __init__(  # noqa: PLR0913 - the parts of the stack that it connects
        self,
        scope: Construct,
        construct_id: str,
        context: Context,
        *,
        name: str,
        bucket: Bucket,
        trail: str | None,
        custom_resources: Function,
        ingest: Ingest,
        overlap: Duration,
        policies: Sequence[IDependable],
    ) -> None:
        super().__init__(scope, construct_id)
        stack, config = Stack.of(self), context.config
        entry = _entry(
            self,
            name,
            {
                "Id": notifications.entry_id(stack.stack_name),
                "Via": bucket.via,
                "StateTable": ingest.table.table_name,
                "Overlap": str(overlap.to_seconds()),
                **(_logged(trail, stack.stack_name, config) if trail else {}),
            },
            custom_resources=custom_resources,
            ingest=ingest,
            timeout=_SERVICE_TIMEOUT.plus(overlap),
        )
        entry.node.add_dependency(*policies)
        if bucket.create:
            entry.node.add_dependency(self._create(name, context.removal_policy))
        label = construct_id
        if bucket.via == "eventbridge":
            rule = eventbridge.make(
                self,
                "Rule",
                name=within_rule_name(f"{stack.stack_name}-bucket-", label),
                description=f"Events of bucket {label}",
                pattern=pattern(name),
                target=eventbridge.ingress(ingest),
            )
            # S3 may notify EventBridge only when somebody there listens.
            entry.node.add_dependency(rule)
        if bucket.access_events:
            eventbridge.make(
                self,
                "AccessRule",
                name=within_rule_name(f"{stack.stack_name}-access-", label),
                description=f"Access events of bucket {label}",
                pattern=access_pattern(name, bucket_events=config.trail.bucket_events),
                target=eventbridge.ingress(ingest),
            )
        document = {"bucket": name, "via": bucket.via, "access_events": "on" if trail else "off"}
        summary = stack.to_json_string(document)
        CfnOutput(self, "Output", value=summary)

    def _create(self, name: str, removal_policy: RemovalPolicy) -> s3.Bucket:
        made = s3.Bucket(
            self,
            "Bucket",
            bucket_name=name,
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            enforce_ssl=True,
            removal_policy=removal_policy,
        )
        nag.accept(made, nag.NO_ACCESS_LOG)
        return made


def _logged(trail: str, stack: str, config: Deployment) -> dict[str, str]:
    """Return the properties for the trail; `BucketEvents` makes CloudFormation write selectors."""
    if not config.trail.manage_selectors:
        return {}
    bucket_events = "on" if config.trail.bucket_events else "off"
    return {"Trail": trail, "Stack": stack, "BucketEvents": bucket_events}


def _entry(
    scope: Construct,
    bucket: str,
    ours: Mapping[str, str],
    *,
    custom_resources: Function,
    ingest: Ingest,
    timeout: Duration = _SERVICE_TIMEOUT,
) -> CustomResource:
    """Return the custom resource that keeps our entry in a bucket's notifications."""
    stack = Stack.of(scope)
    entry = CustomResource(
        scope,
        "Notification",
        resource_type="Custom::BucketNotification",
        service_token=custom_resources.function.function_arn,
        service_timeout=timeout,
        properties={
            "Account": stack.account,
            "Bucket": bucket,
            "QueueArn": ingest.queue.queue_arn,
            **ours,
        },
    )
    # S3 tries the queue before it takes the entry, so the queue's policy must exist.
    entry.node.add_dependency(ingest.queue)
    return entry
