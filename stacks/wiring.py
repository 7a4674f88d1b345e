"""The configured buckets, tied to the ingress queue; what else their notifications hold stays."""

from collections.abc import Mapping
from typing import Final

from aws_cdk import CfnOutput, CustomResource, Duration, RemovalPolicy, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from bucketcast import wiring
from bucketcast.config import Bucket
from stacks import nag
from stacks.assets import Assets
from stacks.function import Function
from stacks.ingest import Ingest

_TIMEOUT: Final = Duration.minutes(2)
# Should the function not even start, CloudFormation gives up then; its own default is an hour.
_PATIENCE: Final = Duration.minutes(3)


class Wiring(Construct):
    """The function behind the custom resource, and one `WiredBucket` a configured bucket."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        buckets: Mapping[str, Bucket],
        ingest: Ingest,
        assets: Assets,
        local: bool,
    ) -> None:
        super().__init__(scope, construct_id)
        self._let_rules_write(ingest)
        if not buckets:
            return
        self.made = Function(
            self,
            "Wire",
            name=f"{Stack.of(self).stack_name}-wiring",
            folder="wiring",
            assets=assets,
            layers=[assets.core()],
            environment={},
            memory=256,
            timeout=_TIMEOUT,
        )
        for name, bucket in buckets.items():
            WiredBucket(self, name, bucket=bucket, wire=self.made, ingest=ingest, keep=not local)

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

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        bucket: Bucket,
        wire: Function,
        ingest: Ingest,
        keep: bool,
    ) -> None:
        super().__init__(scope, construct_id)
        stack = Stack.of(self)
        name = construct_id
        # A policy a bucket, not a list in the function's own: when a bucket leaves the
        # configuration its entry must come out before the right to do so goes.
        policy = iam.Policy(
            self,
            "Policy",
            roles=[wire.role],
            statements=[
                iam.PolicyStatement(
                    actions=["s3:GetBucketNotification", "s3:PutBucketNotification"],
                    resources=[f"arn:{stack.partition}:s3:::{name}"],
                )
            ],
        )
        entry = CustomResource(
            self,
            "Notification",
            resource_type="Custom::BucketNotification",
            service_token=wire.function.function_arn,
            service_timeout=_PATIENCE,
            properties={
                "Account": stack.account,
                "Bucket": name,
                "Id": wiring.entry_id(stack.stack_name),
                "QueueArn": ingest.queue.queue_arn,
                "Via": bucket.via,
            },
        )
        # S3 tries the queue before it takes the entry, so its policy must stand.
        entry.node.add_dependency(policy, ingest.queue)
        if bucket.create:
            entry.node.add_dependency(self._create(name, keep=keep))
        if bucket.via == "eventbridge":
            self._rule(name, ingest)
        summary = stack.to_json_string({"bucket": name, "via": bucket.via})
        CfnOutput(self, "Output", value=summary)

    def _create(self, name: str, *, keep: bool) -> s3.Bucket:
        made = s3.Bucket(
            self,
            "Bucket",
            bucket_name=name,
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            enforce_ssl=True,
            removal_policy=RemovalPolicy.RETAIN if keep else RemovalPolicy.DESTROY,
        )
        nag.accept_no_access_log(made)
        return made

    def _rule(self, name: str, ingest: Ingest) -> None:
        events.Rule(
            self,
            "Rule",
            description=f"Events of bucket {name}",
            event_pattern=events.EventPattern(**wiring.pattern(name)),
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
