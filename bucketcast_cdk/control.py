"""The control plane behind a function URL: bucket notifications for mc, minio-py and boto3."""

from typing import Final

from aws_cdk import Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from bucketcast_cdk import nag
from bucketcast_cdk.assets import Assets
from bucketcast_cdk.function import Function
from bucketcast_cdk.ingest import Ingest

_MEMORY: Final = 1_024
# Changes of a bucket's attachment or of a run-time target wait up to a minute, more than once.
_TIMEOUT: Final = Duration.minutes(5)


class Control(Construct):
    """A function behind a URL of its own; `url` is what clients take as endpoint."""

    def __init__(
        self, scope: Construct, construct_id: str, *, ingest: Ingest, assets: Assets
    ) -> None:
        super().__init__(scope, construct_id)
        self._stack = Stack.of(self)
        made = Function(
            self,
            "Answer",
            name=f"{self._stack.stack_name}-control",
            folder="control",
            assets=assets,
            layers=[assets.core(), assets.runtime(), assets.gateway()],
            environment={
                "BUCKETCAST_STACK": self._stack.stack_name,
                "BUCKETCAST_RULES_TABLE": ingest.rules.table_name,
            },
            memory=_MEMORY,
            timeout=_TIMEOUT,
        )
        self.role = made.role
        ingest.rules.grant(
            made.role,
            "dynamodb:DeleteItem",
            "dynamodb:GetItem",
            "dynamodb:PutItem",
            "dynamodb:Query",
            "dynamodb:UpdateItem",
        )
        ingest.queue.grant(made.role, "sqs:GetQueueAttributes")
        self._let_look_and_attach(made.role, ingest.listeners)
        # The application checks the signature: Lambda's own check knows users of AWS only.
        self.function = made.function
        self.url = made.function.add_function_url(auth_type=lambda_.FunctionUrlAuthType.NONE).url

    def let_follow(self, trail: str) -> None:
        """The rights to have the trail log the calls that a bucket's rules ask for."""
        actions = ["cloudtrail:GetEventSelectors", "cloudtrail:PutEventSelectors"]
        statement = iam.PolicyStatement(actions=actions, resources=[trail])
        self.role.add_to_principal_policy(statement)

    def _let_look_and_attach(self, role: iam.IRole, listeners: str) -> None:
        """The deployment's outputs, the users' secrets, listeners, any bucket's notifications."""
        name, partition = self._stack.stack_name, self._stack.partition
        here = f"{self._stack.region}:{self._stack.account}"
        buckets = f"arn:{partition}:s3:::*"
        rules = f"arn:{partition}:events:{here}:rule/{name}-attached-*"
        stack = f"arn:{partition}:cloudformation:{here}:stack/{name}/*"
        secrets = f"arn:{partition}:secretsmanager:{here}:secret:{name}/users/*"
        rights = {
            stack: ["cloudformation:DescribeStacks"],
            secrets: ["secretsmanager:GetSecretValue"],
            rules: ["events:DescribeRule", "events:RemoveTargets", "events:DeleteRule"],
            listeners: [
                "sqs:ChangeMessageVisibility",
                "sqs:CreateQueue",
                "sqs:DeleteMessage",
                "sqs:DeleteQueue",
                "sqs:ReceiveMessage",
            ],
            buckets: [
                "s3:GetBucketLocation",
                "s3:GetBucketNotification",
                "s3:ListBucket",
                "s3:PutBucketNotification",
            ],
            "*": ["s3:ListAllMyBuckets"],
        }
        for resource, actions in rights.items():
            statement = iam.PolicyStatement(actions=actions, resources=[resource])
            role.add_to_principal_policy(statement)
        nag.accept_control(role, list(rights))
