"""Attach the configured buckets to the ingress queue; other entries in their notifications stay."""

from collections.abc import Mapping

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_s3 as s3
from constructs import Construct

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
from bucketcast_cdk.custom_resources import CustomResources
from bucketcast_cdk.ingest import Ingest
from bucketcast_cdk.outputs import output_of


class Attachments(Construct):
    """The function behind the custom resources, and what connects each configured bucket."""

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
        config, reports = context.config, report_buckets(context.config.scans)
        self._context = context
        self._ingest = ingest
        self._labels = labels
        notifying = {self._label(name): name for name in [*config.buckets, *reports]}
        self.custom_resources = CustomResources(self, context, ingest, notifying)
        for name, bucket in config.buckets.items():
            self._attach(name, bucket)
        for name in reports:
            self._send_to_eventbridge(name)

    def _label(self, bucket: str) -> str:
        """Return the label of a bucket in ids and names."""
        return self._labels.get(bucket, bucket)

    def _send_to_eventbridge(self, bucket: str) -> None:
        """Let S3 send a bucket's events to EventBridge; ingest gets none of them."""
        properties = {"Id": f"{Stack.of(self).stack_name}-reports", "Via": "eventbridge"}
        scope = Construct(self, f"Reports-{self._label(bucket)}")
        entry = self.custom_resources.make_entry(scope, bucket, properties)
        if attached := self.node.try_find_child(self._label(bucket)):
            entry.node.add_dependency(attached)  # each reads the whole document and writes it back

    def _attach(self, name: str, bucket: Bucket) -> None:
        """Attach one bucket, made by the stack or existing."""
        stack, context, label = Stack.of(self), self._context, self._label(name)
        to_ingress = eventbridge.to_ingress(self._ingest.queue, self._ingest.dead)
        scope = Construct(self, label)
        part = {**bucket.part._asdict(), "events": list(bucket.part.events)}
        properties = {
            "Id": notifications.entry_id(stack.stack_name),
            "Via": bucket.via,
            "Part": part,
            "StateTable": self._ingest.table.table_name,
            "TakesEffect": str(self.custom_resources.takes_effect),
            # A deploy may encrypt the queue by a key that S3 may not use.
            **({"Key": context.config.kms_key} if context.config.kms_key else {}),
        }
        entry = self.custom_resources.make_entry(scope, name, properties)
        if bucket.create:
            entry.node.add_dependency(_create(scope, name, context.removal_policy))
        if bucket.via != "sqs":
            rule = events.CfnRule(
                Construct(scope, "Rule"),
                "Resource",
                name=fit_rule_name(f"{stack.stack_name}-bucket-", label),
                description=f"Events of bucket {label}",
                event_pattern=event_pattern(name),
                targets=[to_ingress],
            )
            # S3 must not notify EventBridge before there is a rule for the events.
            entry.node.add_dependency(rule)
        if bucket.access_events:
            events.CfnRule(
                Construct(scope, "AccessRule"),
                "Resource",
                name=fit_rule_name(f"{stack.stack_name}-access-", label),
                description=f"Access events of bucket {label}",
                event_pattern=access_pattern(name, bucket.access_events),
                targets=[to_ingress],
            )
        logged = [] if context.local else list(bucket.access_events)  # no trail logs them locally
        sent = {"part": part} if bucket.part != WHOLE else {}
        summary = {"bucket": name, "via": bucket.via, "access_events": logged, **sent}
        output_of(scope, "Attachments", label, stack.to_json_string(summary))


def _create(scope: Construct, name: str, removal_policy: RemovalPolicy) -> s3.Bucket:
    return s3.Bucket(
        scope,
        "Bucket",
        bucket_name=name,
        encryption=s3.BucketEncryption.S3_MANAGED,
        block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
        enforce_ssl=True,
        removal_policy=removal_policy,
    )
