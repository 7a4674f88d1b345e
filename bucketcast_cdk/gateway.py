"""The gateway behind function URLs: bucket notifications for mc, minio-py and boto3."""

from collections.abc import Mapping
from string import ascii_lowercase, digits
from typing import Final

from aws_cdk import Duration, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from bucketcast.limits import GATEWAY_MEMORY_MB, LISTEN_MEMORY_MB
from bucketcast.listen import listener
from bucketcast.notifications.aws import attachment_times
from bucketcast.settings.environment import ANY_BUCKET
from bucketcast.state import dynamic_targets
from bucketcast_cdk.assets import Context
from bucketcast_cdk.function import Function
from bucketcast_cdk.ingest import Ingest
from bucketcast_cdk.permissions import allow, arn, bucket_arn

# A change of a bucket's attachment or of a dynamic target may wait for a minute several times.
_TIMEOUT: Final = Duration.minutes(5)
_PARTITIONS: Final = (attachment_times.KEY, dynamic_targets.PARTITION, listener.PARTITION)
"""The partitions of the state table that it writes to, besides those of its buckets."""


class Gateway(Construct):
    """A function behind a URL of its own, `url`, which is the endpoint of clients.

    Listeners have another one behind `listen_url`, "" if listening is switched off: each occupies
    it while it waits, so it has little memory, and takes no executions of others.
    """

    def __init__(
        self, scope: Construct, construct_id: str, context: Context, *, ingest: Ingest
    ) -> None:
        super().__init__(scope, construct_id)
        self._context = context
        self._ingest = ingest
        self._stack = Stack.of(self).stack_name
        options = context.config.gateway
        self._buckets = options.buckets or list(context.config.buckets)
        self.listen_url = ""
        environment = {}
        if options.listen_concurrency:
            listen = self._function(
                "Listen",
                "listen",
                {"BUCKETCAST_LISTENERS": str(options.user_listeners)},
                memory=LISTEN_MEMORY_MB,
                reserved=options.listen_concurrency,
            )
            self._allow_listening(listen.role)
            self.listen_url = listen.add_url()
            environment["BUCKETCAST_LISTEN_URL"] = self.listen_url
        function = self._function(
            "Answer",
            "gateway",
            environment,
            memory=GATEWAY_MEMORY_MB,
            reserved=options.reserved_concurrency or None,
        )
        self.role = function.role
        # The application checks the signature: Lambda's own check knows users of AWS only.
        self.url = function.add_url()

    def _function(
        self,
        construct_id: str,
        name: str,
        environment: Mapping[str, str],
        *,
        memory: int,
        reserved: int | None,
    ) -> Function:
        context, table = self._context, self._ingest.table
        function = Function(
            self,
            construct_id,
            context,
            name=f"{self._stack}-{name}",
            folder="gateway",
            layer="gateway",
            environment={
                "BUCKETCAST_STACK": self._stack,
                "BUCKETCAST_STATE_TABLE": table.table_name,
                **environment,
            },
            memory=memory,
            timeout=_TIMEOUT,
            reserved=reserved,
        )
        table.grant(function.role, "dynamodb:GetItem", "dynamodb:Query")
        writes = ["dynamodb:DeleteItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
        keys = {"dynamodb:LeadingKeys": [*self._partitions(), *_PARTITIONS]}
        allow(function.role, writes, [table.table_arn], {"ForAllValues:StringLike": keys})
        self._ingest.queue.grant(function.role, "sqs:GetQueueAttributes")
        self._allow_attaching(function.role)
        return function

    def _allow_listening(self, role: iam.Role) -> None:
        """Allow the queues of listeners."""
        queues = self._ingest.listeners
        allow(
            role,
            [
                "sqs:ChangeMessageVisibility",
                "sqs:CreateQueue",
                "sqs:DeleteMessage",
                "sqs:DeleteQueue",
                "sqs:ReceiveMessage",
            ],
            [queues],
        )

    def _allow_attaching(self, role: iam.Role) -> None:
        """Allow the stack's outputs, the users' secrets, and the notifications of its buckets."""
        stack = self._stack
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
            "*": ["s3:ListAllMyBuckets"],
        }
        for resource, actions in permissions.items():
            allow(role, actions, [resource])
        notifications = [
            "s3:GetBucketLocation",
            "s3:GetBucketNotification",
            "s3:ListBucket",
            "s3:PutBucketNotification",
        ]
        allow(role, notifications, [bucket_arn(self, name) for name in self._buckets])

    def _partitions(self) -> list[str]:
        """Return patterns of the partitions with rules; `*` would be users and breakers too."""
        any_bucket = [f"{first}*" for first in ascii_lowercase + digits]
        named = [any_bucket if name == ANY_BUCKET else [name] for name in self._buckets]
        return [pattern for patterns in named for pattern in patterns]
