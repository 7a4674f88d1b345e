"""An app of one's own: a bucket, a Bucketcast beside it, and an alarm on one of its queues.

Context: `local` (`true`: for the local AWS).
"""

import os

from aws_cdk import App, CfnOutput, Duration, Environment, Stack, Tags
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_s3 as s3

from bucketcast_cdk import Bucketcast

app = App()
local = str(app.node.try_get_context("local")).lower() == "true"
stack = Stack(
    app,
    "Photos",
    env=Environment(
        account=os.environ.get("CDK_DEFAULT_ACCOUNT"), region=os.environ.get("CDK_DEFAULT_REGION")
    ),
)
photos = s3.Bucket(stack, "Photos", enforce_ssl=True)
notifications = Bucketcast(
    stack,
    "Notifications",
    config="local.toml" if local else "bucketcast.toml",
    buckets={"photos": photos},
    local=local,
)
primary = notifications.target("webhook", "primary")
cloudwatch.Alarm(
    stack,
    "Late",
    metric=primary.queue.metric_approximate_age_of_oldest_message(period=Duration.minutes(1)),
    threshold=Duration.minutes(10).to_seconds(),
    evaluation_periods=1,
)
Tags.of(notifications).add("team", "photos")
CfnOutput(stack, "Bucket", value=photos.bucket_name)
app.synth()
