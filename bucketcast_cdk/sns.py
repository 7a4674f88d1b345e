"""Topics of SNS that the ingress queue is subscribed to."""

import zlib
from collections.abc import Sequence

from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from bucketcast_cdk.queues import allow_service


def subscribe(scope: Construct, queue: sqs.Queue, topics: Sequence[str]) -> None:
    """Subscribe a queue to topics by their ARNs, raw, and let them write."""
    if not topics:
        return
    allow_service(queue, "Topics", "sns", {"ArnEquals": {"aws:SourceArn": list(topics)}})
    for arn in topics:
        made = sns.CfnSubscription(
            scope,
            f"Topic-{zlib.crc32(arn.encode()):08x}",
            topic_arn=arn,
            region=arn.split(":")[3],
            protocol="sqs",
            endpoint=queue.queue_arn,
            raw_message_delivery=True,
        )
        # What a topic sends before the queue's policy exists would be tried again, and may be lost.
        made.node.add_dependency(queue)
