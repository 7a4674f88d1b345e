"""The trail that logs calls without a notification of S3: reads, legal holds, buckets."""

from collections.abc import Mapping
from typing import Final

from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudtrail as cloudtrail
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from bucketcast.config.trail import selectors
from bucketcast_cdk.assets import Context
from bucketcast_cdk.permissions import arn

_KEPT: Final = Duration.days(7)


def make_trail(scope: Construct, context: Context) -> None:
    """Make a trail of this region for access events, and the bucket that every trail must have."""
    log = s3.Bucket(
        scope,
        "Log",
        encryption=s3.BucketEncryption.S3_MANAGED,
        block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
        enforce_ssl=True,
        lifecycle_rules=[
            s3.LifecycleRule(expiration=_KEPT, abort_incomplete_multipart_upload_after=_KEPT)
        ],
        # It could not be deleted unless it is empty; it empties itself within a week.
        removal_policy=context.removal_policy,
    )
    stack = Stack.of(scope)
    name = f"{stack.stack_name}-access"
    ours = {"aws:SourceArn": arn(scope, "cloudtrail", f"trail/{name}")}
    owned = {**ours, "s3:x-amz-acl": "bucket-owner-full-control"}
    _allow(log, "s3:GetBucketAcl", log.bucket_arn, ours)
    _allow(log, "s3:PutObject", log.arn_for_objects(f"AWSLogs/{stack.account}/*"), owned)
    trail = cloudtrail.CfnTrail(
        scope,
        "Trail",
        trail_name=name,
        s3_bucket_name=log.bucket_name,
        is_logging=True,
        enable_log_file_validation=True,
    )
    trail.add_property_override(
        "AdvancedEventSelectors", selectors(context.config.access_events, stack.partition)
    )
    trail.node.add_dependency(log)  # with its policy, which CloudTrail tries


def _allow(log: s3.Bucket, action: str, resource: str, equal: Mapping[str, str]) -> None:
    """Allow CloudTrail an action on the log's bucket."""
    log.add_to_resource_policy(
        iam.PolicyStatement(
            principals=[iam.ServicePrincipal("cloudtrail.amazonaws.com")],
            actions=[action],
            resources=[resource],
            conditions={"StringEquals": dict(equal)},
        )
    )
