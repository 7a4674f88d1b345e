"""The gateway behind a function URL: bucket notifications for mc, minio-py and boto3."""

from typing import Final

from aws_cdk import Duration, Stack
from constructs import Construct

from bucketcast_cdk import nag
from bucketcast_cdk.assets import Context
from bucketcast_cdk.function import Function
from bucketcast_cdk.ingest import Ingest
from bucketcast_cdk.permissions import allow, arn, bucket_arn

_MEMORY: Final = 1_024
# A change of a bucket's attachment or of a dynamic target may wait for a minute several times.
_TIMEOUT: Final = Duration.minutes(5)


class Gateway(Construct):
    """A function behind a URL of its own, `url`, which is the endpoint of clients."""

    def __init__(
        self, scope: Construct, construct_id: str, context: Context, *, ingest: Ingest
    ) -> None:
        super().__init__(scope, construct_id)
        stack = Stack.of(self).stack_name
        function = Function(
            self,
            "Answer",
            context,
            name=f"{stack}-gateway",
            folder="gateway",
            layers=[*context.assets.shared(), *context.assets.layer("gateway")],
            environment={
                "BUCKETCAST_STACK": stack,
                "BUCKETCAST_STATE_TABLE": ingest.table.table_name,
                **({"BUCKETCAST_AUDIT": "on"} if context.config.gateway.audit else {}),
            },
            memory=_MEMORY,
            timeout=_TIMEOUT,
            reserved=context.config.gateway.reserved_concurrency or None,
        )
        self.role = function.role
        ingest.table.grant(
            function.role,
            "dynamodb:DeleteItem",
            "dynamodb:GetItem",
            "dynamodb:PutItem",
            "dynamodb:Query",
            "dynamodb:UpdateItem",
        )
        ingest.queue.grant(function.role, "sqs:GetQueueAttributes")
        self._allow_attaching(stack, ingest.listeners)
        # The application checks the signature: Lambda's own check knows users of AWS only.
        self.url = function.add_url()

    def _allow_attaching(self, stack: str, listeners: str) -> None:
        """Allow the stack's outputs, the users' secrets, listeners, any bucket's notifications."""
        permissions = {
            arn(self, "cloudformation", f"stack/{stack}/*"): ["cloudformation:DescribeStacks"],
            arn(self, "secretsmanager", f"secret:{stack}/users/*"): [
                "secretsmanager:GetSecretValue"
            ],
            arn(self, "events", f"rule/{stack}-attached-*"): [
                "events:DeleteRule",
                "events:DescribeRule",
                "events:RemoveTargets",
            ],
            listeners: [
                "sqs:ChangeMessageVisibility",
                "sqs:CreateQueue",
                "sqs:DeleteMessage",
                "sqs:DeleteQueue",
                "sqs:ReceiveMessage",
            ],
            bucket_arn(self, "*"): [
                "s3:GetBucketLocation",
                "s3:GetBucketNotification",
                "s3:ListBucket",
                "s3:PutBucketNotification",
            ],
            "*": ["s3:ListAllMyBuckets"],
        }
        for resource, actions in permissions.items():
            allow(self.role, actions, [resource])
        nag.accept_wildcards(self.role, permissions, nag.GATEWAY)
