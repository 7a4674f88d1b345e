"""The trail that logs calls without a notification of S3: reads, legal holds, buckets."""

from typing import Final

from aws_cdk import CfnOutput, Duration, Stack
from aws_cdk import aws_cloudtrail as cloudtrail
from aws_cdk import aws_s3 as s3
from constructs import Construct

from bucketcast.config import Deployment
from bucketcast.rules import trail_selectors
from bucketcast_cdk import nag
from bucketcast_cdk.assets import Context
from bucketcast_cdk.permissions import arn

SELECTORS: Final = ("cloudtrail:GetEventSelectors", "cloudtrail:PutEventSelectors")
"""The actions to make a trail log the calls that a bucket's rules need."""
_KEPT: Final = Duration.days(7)


def trail_name(stack: str) -> str:
    """Return the trail's name, by which permissions outlive it."""
    return f"{stack}-access"


def trail_arn(scope: Construct, context: Context) -> str | None:
    """Return the ARN of the configured trail, or of one made for buckets with access events."""
    config = context.config
    if name := config.trail.name:
        return name if ":" in name else arn(scope, "cloudtrail", f"trail/{name}")
    if not any(bucket.access_events for bucket in config.buckets.values()):
        return None
    return _make_trail(Construct(scope, "Access"), context).trail_arn


def add_outputs(scope: Construct, trail: str, config: Deployment) -> None:
    """Add the outputs by which the command line finds the trail, by its ARN, and its options."""
    CfnOutput(scope, "AccessTrail", value=trail)
    if not config.trail.manage_selectors:
        CfnOutput(scope, "TrailSelectors", value="off")
    if config.trail.bucket_events:
        CfnOutput(scope, "BucketEvents", value="on")


def _make_trail(scope: Construct, context: Context) -> cloudtrail.Trail:
    """Make a trail of this region, and the bucket that every trail must have.

    It is made to log nothing, or with `bucket_events` the management events that write. The data
    events, which cost money, are selected when a bucket is attached and when a rule is added or
    removed. CloudFormation overwrites all selectors when these change, hence `BucketEvents` among
    the properties of each attached bucket.
    """
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
        trail_name=trail_name(Stack.of(scope).stack_name),
        bucket=log,
        is_multi_region_trail=False,
        include_global_service_events=False,
    )
    cfn = trail.node.default_child
    if isinstance(cfn, cloudtrail.CfnTrail):
        unused = trail_selectors.unused_selector(log.bucket_arn)
        initial = dict(trail_selectors.MANAGEMENT) if context.config.trail.bucket_events else unused
        cfn.event_selectors = None
        cfn.add_property_override("AdvancedEventSelectors", [initial])
    return trail
