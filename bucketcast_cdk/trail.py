"""The trail that logs calls without a notification of S3: reads, legal holds, buckets."""

from typing import Final

from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudtrail as cloudtrail
from aws_cdk import aws_s3 as s3
from constructs import Construct

from bucketcast.config.trail import selectors
from bucketcast_cdk import nag
from bucketcast_cdk.assets import Context

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
    nag.accept(log, nag.LOG_BUCKET)
    trail = cloudtrail.Trail(
        scope,
        "Trail",
        trail_name=f"{Stack.of(scope).stack_name}-access",
        bucket=log,
        is_multi_region_trail=False,
        include_global_service_events=False,
    )
    cfn = trail.node.default_child
    if isinstance(cfn, cloudtrail.CfnTrail):
        partition = Stack.of(scope).partition
        cfn.event_selectors = None
        cfn.add_property_override(
            "AdvancedEventSelectors", selectors(context.config.access_events, partition)
        )
