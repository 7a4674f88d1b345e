"""Attach the configured buckets to the ingress queue; other entries in their notifications stay."""

from collections.abc import Mapping, Sequence
from typing import Any

from aws_cdk import CustomResource, RemovalPolicy, Stack
from aws_cdk import aws_s3 as s3
from constructs import Construct, IDependable

from bucketcast.config.bucket import Bucket
from bucketcast.config.deployable import report_buckets
from bucketcast.notifications import document as notifications
from bucketcast.notifications.eventbridge import (
    access_pattern,
    event_pattern,
    fit_rule_name,
)
from bucketcast.rules.sent_events import WHOLE
from bucketcast_cdk import eventbridge
from bucketcast_cdk.assets import Context
from bucketcast_cdk.custom_resources import SERVICE_TIMEOUT, CustomResources
from bucketcast_cdk.ingest import Ingest
from bucketcast_cdk.outputs import output_of


class Attachments(Construct):
    """The function behind the custom resources, and one `AttachedBucket` a configured bucket."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        context: Context,
        *,
        ingest: Ingest,
        labels: Mapping[str, str],
    ) -> None:
        """Attach the configured buckets, and let those with reports send events to EventBridge.

        `labels` are words for buckets whose names only the deploy knows.
        """
        super().__init__(scope, construct_id)
        config = context.config
        self._ingest = ingest
        self._labels = labels
        self.custom_resources = CustomResources(self, context, ingest)
        policies: list[IDependable] = []
        reports = report_buckets(config.scans)
        if notifying := {self._label(name): name for name in [*config.buckets, *reports]}:
            policies.append(self.custom_resources.allow_notifications(notifying))
        for name, bucket in config.buckets.items():
            AttachedBucket(
                self,
                self._label(name),
                context,
                name=name,
                bucket=bucket,
                custom_resources=self.custom_resources,
                ingest=ingest,
                policies=policies,
            )
        for name in reports:
            self._send_to_eventbridge(name, policies)

    def _label(self, bucket: str) -> str:
        """Return the label of a bucket in ids and names."""
        return self._labels.get(bucket, bucket)

    def _send_to_eventbridge(self, bucket: str, policies: Sequence[IDependable]) -> None:
        """Let S3 send a bucket's events to EventBridge; ingest gets none of them."""
        properties = {"Id": f"{Stack.of(self).stack_name}-reports", "Via": "eventbridge"}
        scope = Construct(self, f"Reports-{self._label(bucket)}")
        entry = _entry(scope, bucket, properties, self.custom_resources, self._ingest)
        entry.node.add_dependency(*policies)
        if attached := self.node.try_find_child(self._label(bucket)):
            entry.node.add_dependency(attached)  # each reads the whole document and writes it back


class AttachedBucket(Construct):
    """One bucket, made by the stack or existing."""

    def __init__(  # noqa: PLR0913 - the parts of the stack that it connects
        self,
        scope: Construct,
        construct_id: str,
        context: Context,
        *,
        name: str,
        bucket: Bucket,
        custom_resources: CustomResources,
        ingest: Ingest,
        policies: Sequence[IDependable],
    ) -> None:
        super().__init__(scope, construct_id)
        stack, config = Stack.of(self), context.config
        part = {**bucket.part._asdict(), "events": list(bucket.part.events)}
        entry = _entry(
            self,
            name,
            {
                "Id": notifications.entry_id(stack.stack_name),
                "Via": bucket.via,
                "Part": part,
                "StateTable": ingest.table.table_name,
                "TakesEffect": str(custom_resources.takes_effect),
                # A deploy may encrypt the queue by a key that S3 may not use.
                **({"Key": config.kms_key} if config.kms_key else {}),
            },
            custom_resources,
            ingest,
        )
        entry.node.add_dependency(*policies)
        if bucket.create:
            entry.node.add_dependency(self._create(name, context.removal_policy))
        label = construct_id
        if bucket.via != "sqs":
            rule = eventbridge.make(
                self,
                "Rule",
                name=fit_rule_name(f"{stack.stack_name}-bucket-", label),
                description=f"Events of bucket {label}",
                pattern=event_pattern(name),
                target=eventbridge.ingress(ingest),
            )
            # S3 must not notify EventBridge before there is a rule for the events.
            entry.node.add_dependency(rule)
        if bucket.access_events:
            eventbridge.make(
                self,
                "AccessRule",
                name=fit_rule_name(f"{stack.stack_name}-access-", label),
                description=f"Access events of bucket {label}",
                pattern=access_pattern(name, bucket.access_events),
                target=eventbridge.ingress(ingest),
            )
        events = [] if context.local else list(bucket.access_events)  # no trail logs them locally
        sent = {"part": part} if bucket.part != WHOLE else {}
        summary = {"bucket": name, "via": bucket.via, "access_events": events, **sent}
        output_of(self, "Attachments", construct_id, stack.to_json_string(summary))

    def _create(self, name: str, removal_policy: RemovalPolicy) -> s3.Bucket:
        return s3.Bucket(
            self,
            "Bucket",
            bucket_name=name,
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            enforce_ssl=True,
            removal_policy=removal_policy,
        )


def _entry(
    scope: Construct,
    bucket: str,
    properties: Mapping[str, Any],
    custom_resources: CustomResources,
    ingest: Ingest,
) -> CustomResource:
    """Return the custom resource that makes our entry in a bucket's notifications."""
    all_properties = {
        "Account": Stack.of(scope).account,
        "Bucket": bucket,
        "QueueArn": ingest.queue.queue_arn,
        **properties,
    }
    custom_resources.check_daily(scope, all_properties)
    entry = CustomResource(
        scope,
        "Notification",
        resource_type="Custom::BucketNotification",
        service_token=custom_resources.service_token,
        service_timeout=SERVICE_TIMEOUT,
        properties=all_properties,
    )
    # S3 tries the queue before it takes the entry, so the queue's policy must exist.
    entry.node.add_dependency(ingest.queue)
    return entry
