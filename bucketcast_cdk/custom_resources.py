"""The function behind the custom resources, and its permissions.

IAM limits the size of a role's policies, so all buckets share one statement.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from aws_cdk import CustomResource, Duration, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from constructs import Construct

from bucketcast.deployment import TAKES_EFFECT
from bucketcast.notifications.aws import attachment_times
from bucketcast.notifications.aws.deployed_bucket import CHECK
from bucketcast.notifications.eventbridge import fit_rule_name
from bucketcast_cdk import eventbridge
from bucketcast_cdk.assets import Context
from bucketcast_cdk.function import Function
from bucketcast_cdk.ingest import Ingest
from bucketcast_cdk.permissions import RULES, allow, bucket_arn, leading_keys

# If the function does not even start, CloudFormation gives up then; its own default is an hour.
_SERVICE_TIMEOUT: Final = Duration.minutes(5)
_TIMEOUT: Final = Duration.minutes(4)


class CustomResources:
    """The function that CloudFormation calls for `buckets`, by label; it is made in `scope`.

    A change of a bucket's notifications is in effect after `takes_effect` seconds.
    """

    def __init__(
        self, scope: Construct, context: Context, ingest: Ingest, buckets: Mapping[str, str]
    ) -> None:
        self._scope = scope
        self._local = context.local
        self._ingress = ingest.queue
        self.name = f"{Stack.of(scope).stack_name}-custom-resources"
        # The S3 of one machine applies a change at once.
        self.takes_effect = 0 if context.local else TAKES_EFFECT
        self._function = Function(
            scope,
            "CustomResources",
            context,
            name=self.name,
            folder="custom_resources",
            environment={},
            memory=256,
            timeout=_TIMEOUT,
        )
        # Lambda must not retry a request: minutes later the deploy may have been rolled back, and
        # the retry would write what it wanted.
        self._function.function.configure_async_invoke(
            retry_attempts=0, max_event_age=_SERVICE_TIMEOUT
        )
        if not context.local:
            eventbridge.allow_calls(self._function, "daily-*")
        # Beside the right to write its log, so that they come before and go after all that call it.
        role = self._function.role
        times = ["dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem"]
        allow(role, times, [ingest.table.table_arn], leading_keys(attachment_times.KEY))
        allow(role, ["dynamodb:Query"], [ingest.table.table_arn], RULES)
        allow(role, ["sqs:GetQueue*"], [ingest.queue.queue_arn])
        allow(role, ["cloudformation:DescribeStacks"], [Stack.of(scope).stack_id])
        self._policies = [self._allow_notifications(buckets)] if buckets else []

    def make_entry(
        self, scope: Construct, bucket: str, properties: Mapping[str, Any]
    ) -> CustomResource:
        """Return the custom resource that makes our entry in a bucket's notifications."""
        all_properties = {
            "Account": Stack.of(scope).account,
            "Bucket": bucket,
            "QueueArn": self._ingress.queue_arn,
            **properties,
        }
        if not self._local:  # the local AWS has neither schedules nor alarms
            self._check_daily(scope, all_properties)
        entry = CustomResource(
            scope,
            "Notification",
            resource_type="Custom::BucketNotification",
            service_token=self._function.function.function_arn,
            service_timeout=_SERVICE_TIMEOUT,
            properties=all_properties,
        )
        # S3 tries the queue before it takes the entry, so the queue's policy must exist.
        entry.node.add_dependency(self._ingress, *self._policies)
        return entry

    def _check_daily(self, scope: Construct, properties: Mapping[str, Any]) -> None:
        """Look daily whether a bucket's events still come: an alarm counts the errors."""
        request = {"RequestType": CHECK, "ResourceProperties": dict(properties)}
        stack, arn = Stack.of(scope), self._function.function.function_arn
        call = events.CfnRule.TargetProperty(
            id="daily", arn=arn, input=stack.to_json_string(request)
        )
        events.CfnRule(
            Construct(scope, "Daily"),
            "Resource",
            name=fit_rule_name(f"{stack.stack_name}-daily-", scope.node.id),
            description="Whether another tool has changed what the bucket sends",
            schedule_expression="rate(1 day)",
            targets=[call],
        )

    def _allow_notifications(self, buckets: Mapping[str, str]) -> iam.ManagedPolicy:
        """Allow to write the notifications of buckets, and return the policy.

        The policy's id is derived from the labels. So if a bucket is removed from the
        configuration, there is a new policy, and CloudFormation removes the old one only after the
        bucket's entry, which depends on it.
        """
        labels = sorted(buckets)
        return iam.ManagedPolicy(
            self._scope,
            f"Buckets-{_digest('/'.join(labels))}",
            roles=[self._function.role],
            description="The notifications of the buckets of a configuration",
            statements=[
                iam.PolicyStatement(
                    actions=["s3:GetBucketNotification", "s3:PutBucketNotification"],
                    resources=[bucket_arn(self._scope, buckets[label]) for label in labels],
                )
            ],
        )


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()
