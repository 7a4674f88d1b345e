"""The configured buckets, tied to the ingress queue; what else their notifications hold stays."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from aws_cdk import CfnOutput, CustomResource, Duration, Stack
from aws_cdk import aws_cloudtrail as cloudtrail
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from bucketcast import access, wiring
from bucketcast.config import Bucket
from bucketcast.store import lock, switches
from bucketcast.store.switches import TAKES_EFFECT
from stacks import nag
from stacks.access import trail_name
from stacks.assets import Assets
from stacks.function import Function
from stacks.ingest import Ingest
from stacks.keeping import kept

_TIMEOUT: Final = Duration.minutes(4)
# Should the function not even start, CloudFormation gives up then; its own default is an hour.
_PATIENCE: Final = Duration.minutes(5)
_AT_ONCE: Final = Duration.seconds(0)
# SQS's counts are right a minute after the last message came, here at once.
_SETTLE: Final = 60
_SETTLE_HERE: Final = 5


TARGETS: Final = "Custom::Targets"


class Wiring(Construct):
    """The function behind the custom resources, and one `WiredBucket` a configured bucket."""

    def __init__(  # noqa: PLR0913 - what wiring is made of
        self,
        scope: Construct,
        construct_id: str,
        *,
        buckets: Mapping[str, Bucket],
        trail: cloudtrail.Trail | None,
        ingest: Ingest,
        assets: Assets,
        local: bool,
    ) -> None:
        super().__init__(scope, construct_id)
        self._ingest = ingest
        self._assets = assets
        self._local = local
        # The S3 of one machine heeds a change at once.
        self._overlap = _AT_ONCE if local else Duration.seconds(TAKES_EFFECT)
        effect = CfnOutput(self, "Effect", value=str(self._overlap.to_seconds()))
        effect.override_logical_id("TakesEffect")
        self._let_rules_write(ingest)
        for name, bucket in buckets.items():
            followed = trail if bucket.access_events else None
            WiredBucket(
                self,
                name,
                bucket=bucket,
                trail=followed,
                wire=self._wire,
                ingest=ingest,
                overlap=self._overlap,
                rights=self._rights,
                keep=not local,
            )

    def tell_eventbridge(self, bucket: str) -> None:
        """Let S3 tell EventBridge of a bucket's events, of which ingest takes none by this."""
        ours = {"Id": f"{Stack.of(self).stack_name}-reports", "Via": "eventbridge"}
        scope = Construct(self, f"Reports-{bucket}")
        entry = _entry(scope, bucket, ours, wire=self._wire, ingest=self._ingest)
        if wired := self.node.try_find_child(bucket):
            entry.node.add_dependency(wired)  # each reads the whole document and writes it back

    def keep_what_waits(
        self, queues: Mapping[str, tuple[str, str]], discard: Sequence[str], kinds: Sequence[str]
    ) -> None:
        """Refuse a deploy that would remove a target, by its ARN, for which something waits.

        Or the function of a kind of which there are run-time targets; `kinds` are those that stay.

        One resource for all, and always there, since CloudFormation asks a resource that is
        removed only when it is too late to refuse. And it asks twice: before ingest is told that
        the target is gone, since from then on its events go nowhere, also where the deploy is then
        refused; and after that, when nothing comes any more.
        """
        scope = Construct(self, "Targets")
        policy = self._let_look_at_queues(scope)
        patience = _SETTLE_HERE if self._local else _SETTLE
        before, after = (
            CustomResource(
                scope,
                name,
                resource_type=TARGETS,
                service_token=self._wire.function.function_arn,
                service_timeout=_PATIENCE.plus(self._overlap),
                properties={
                    "Queues": {arn: list(urls) for arn, urls in queues.items()},
                    "Discard": list(discard),
                    "Kinds": list(kinds),
                    "RulesTable": self._ingest.rules.table_name,
                    "Settle": str(settle),
                    "Patience": str(patience),
                },
            )
            for name, settle in (("Before", 0), ("After", patience))
        )
        before.node.add_dependency(policy, self._rights)
        self._ingest.writer.node.add_dependency(before)
        after.node.add_dependency(policy, self._rights, self._ingest.writer)

    def _let_look_at_queues(self, scope: Construct) -> iam.Policy:
        """The rights to ask how many messages wait."""
        stack = Stack.of(self)
        # The queues of removed targets are in no template any more.
        ours = f"arn:{stack.partition}:sqs:{stack.region}:{stack.account}:{stack.stack_name}-*"
        policy = iam.Policy(
            scope,
            "Policy",
            roles=[self._wire.role],
            statements=[
                iam.PolicyStatement(actions=["sqs:GetQueueAttributes"], resources=[ours]),
            ],
        )
        nag.accept_looking_at_queues(policy, ours)
        return policy

    @cached_property
    def _rights(self) -> iam.Policy:
        """The rights to say since when a bucket is wired, and to let our trail follow its rules.

        And to ask whether a deploy is rolled back.

        Once for all buckets, since IAM limits what the policies of a role come to. The same with
        and without access events: where they are switched off, or their bucket goes, the trail is
        told after the policies have changed. The buckets are wired at the same time and their
        trail is one: hence the lock.
        """
        stack = Stack.of(self)
        where = f"arn:{stack.partition}:cloudtrail:{stack.region}:{stack.account}"
        table = self._ingest.rules.table_arn
        keys = {"dynamodb:LeadingKeys": [switches.KEY, lock.KEY]}
        return iam.Policy(
            self,
            "Rights",
            roles=[self._wire.role],
            statements=[
                iam.PolicyStatement(
                    actions=["dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem"],
                    resources=[table],
                    conditions={"ForAllValues:StringEquals": keys},
                ),
                iam.PolicyStatement(actions=["dynamodb:Query"], resources=[table]),
                iam.PolicyStatement(
                    actions=["cloudtrail:GetEventSelectors", "cloudtrail:PutEventSelectors"],
                    resources=[f"{where}:trail/{trail_name(stack.stack_name)}"],
                ),
                iam.PolicyStatement(
                    actions=["cloudformation:DescribeStacks"], resources=[stack.stack_id]
                ),
            ],
        )

    @cached_property
    def _wire(self) -> Function:
        """The function behind the custom resources."""
        return Function(
            self,
            "Wire",
            name=f"{Stack.of(self).stack_name}-wiring",
            folder="wiring",
            assets=self._assets,
            layers=[self._assets.core(), self._assets.runtime()],
            environment={},
            memory=256,
            timeout=_TIMEOUT.plus(self._overlap),
        )

    def _let_rules_write(self, ingest: Ingest) -> None:
        """The EventBridge rules of buckets that `bucketcast attach` will attach later on."""
        stack = Stack.of(self)
        where = f"arn:{stack.partition}:events:{stack.region}:{stack.account}:rule"
        for queue in (ingest.queue, ingest.dead):
            queue.add_to_resource_policy(
                iam.PolicyStatement(
                    sid="RulesOfAttachedBuckets",
                    principals=[iam.ServicePrincipal("events.amazonaws.com")],
                    actions=["sqs:SendMessage"],
                    resources=[queue.queue_arn],
                    conditions={
                        "ArnLike": {
                            "aws:SourceArn": f"{where}/{wiring.rule_prefix(stack.stack_name)}*"
                        }
                    },
                )
            )


class WiredBucket(Construct):
    """One bucket, made here or found."""

    def __init__(  # noqa: PLR0913 - what a wired bucket is made of
        self,
        scope: Construct,
        construct_id: str,
        *,
        bucket: Bucket,
        trail: cloudtrail.Trail | None,
        wire: Function,
        ingest: Ingest,
        overlap: Duration,
        rights: iam.Policy,
        keep: bool,
    ) -> None:
        super().__init__(scope, construct_id)
        stack = Stack.of(self)
        name = construct_id
        entry = _entry(
            self,
            name,
            {
                "Id": wiring.entry_id(stack.stack_name),
                "Via": bucket.via,
                "RulesTable": ingest.rules.table_name,
                "Overlap": str(overlap.to_seconds()),
                **({"Trail": trail.trail_arn, "Stack": stack.stack_name} if trail else {}),
            },
            wire=wire,
            ingest=ingest,
            patience=_PATIENCE.plus(overlap),
        )
        entry.node.add_dependency(rights)
        if bucket.create:
            entry.node.add_dependency(self._create(name, keep=keep))
        if bucket.via == "eventbridge":
            about = f"Events of bucket {name}"
            # S3 may tell EventBridge only when somebody there listens.
            entry.node.add_dependency(self._rule("Rule", about, wiring.pattern(name), ingest))
        if bucket.access_events:
            about = f"Access events of bucket {name}"
            self._rule("AccessRule", about, access.pattern(name), ingest)
        told = {"bucket": name, "via": bucket.via, "access_events": "on" if trail else "off"}
        summary = stack.to_json_string(told)
        CfnOutput(self, "Output", value=summary)

    def _create(self, name: str, *, keep: bool) -> s3.Bucket:
        made = s3.Bucket(
            self,
            "Bucket",
            bucket_name=name,
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            enforce_ssl=True,
            removal_policy=kept(keep=keep),
        )
        nag.accept_no_access_log(made)
        return made

    def _rule(
        self, construct_id: str, description: str, pattern: Mapping[str, Any], ingest: Ingest
    ) -> events.Rule:
        named = {key.replace("-", "_"): held for key, held in pattern.items()}
        return events.Rule(
            self,
            construct_id,
            description=description,
            event_pattern=events.EventPattern(**named),
            targets=[
                targets.SqsQueue(
                    ingest.queue,
                    # EventBridge's own last resort: the same place to look, the same bodies.
                    dead_letter_queue=ingest.dead,
                    max_event_age=Duration.hours(24),
                    retry_attempts=185,
                )
            ],
        )


def _entry(
    scope: Construct,
    bucket: str,
    ours: Mapping[str, str],
    *,
    wire: Function,
    ingest: Ingest,
    patience: Duration = _PATIENCE,
) -> CustomResource:
    """The custom resource that keeps our entry in a bucket's notifications."""
    stack = Stack.of(scope)
    # A policy a bucket, not a list in the function's own: when a bucket leaves the
    # configuration its entry must come out before the right to do so goes.
    policy = iam.Policy(
        scope,
        "Policy",
        roles=[wire.role],
        statements=[
            iam.PolicyStatement(
                actions=["s3:GetBucketNotification", "s3:PutBucketNotification"],
                resources=[f"arn:{stack.partition}:s3:::{bucket}"],
            ),
        ],
    )
    entry = CustomResource(
        scope,
        "Notification",
        resource_type="Custom::BucketNotification",
        service_token=wire.function.function_arn,
        service_timeout=patience,
        properties={
            "Account": stack.account,
            "Bucket": bucket,
            "QueueArn": ingest.queue.queue_arn,
            **ours,
        },
    )
    # S3 tries the queue before it takes the entry, so its policy must stand.
    entry.node.add_dependency(policy, ingest.queue)
    return entry
