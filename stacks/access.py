"""The trail that logs the calls that S3 does not notify of: reads, legal holds, buckets."""

from typing import Final

from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudtrail as cloudtrail
from aws_cdk import aws_s3 as s3
from constructs import Construct

from bucketcast import access
from stacks import nag
from stacks.keeping import kept

_KEPT: Final = Duration.days(7)


def trail_name(stack: str) -> str:
    """Give the trail's name; rights to it outlive it by this."""
    return f"{stack}-access"


class Access(Construct):
    """A trail of this region, and the bucket that every trail must have.

    It is made to log buckets made and removed. The data events, which cost money, are selected
    when the buckets are wired and whenever a rule comes or goes.
    """

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        log = s3.Bucket(
            self,
            "Log",
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            enforce_ssl=True,
            lifecycle_rules=[
                s3.LifecycleRule(expiration=_KEPT, abort_incomplete_multipart_upload_after=_KEPT)
            ],
            # Not empty, it could not be deleted; it empties itself within a week.
            removal_policy=kept(keep=True),
        )
        nag.accept_log_bucket(log)
        self.trail = cloudtrail.Trail(
            self,
            "Trail",
            trail_name=trail_name(Stack.of(self).stack_name),
            bucket=log,
            is_multi_region_trail=False,
            include_global_service_events=False,
        )
        made = self.trail.node.default_child
        if isinstance(made, cloudtrail.CfnTrail):
            made.event_selectors = None
            made.add_property_override("AdvancedEventSelectors", [dict(access.MANAGEMENT)])
