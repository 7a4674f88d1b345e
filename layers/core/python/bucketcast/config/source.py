"""The table `[source]`: sources of events other than the buckets of this account."""

from dataclasses import dataclass

from bucketcast.settings.options import option
from bucketcast.settings.types import ACCOUNT, SNS_TOPIC, Csv


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """Buckets of other accounts, and topics between buckets and the ingress queue."""

    accounts: Csv = option(
        "other accounts whose buckets, in the stack's region, may send to the ingress queue",
        default="",
        example="444455556666",
        parse=ACCOUNT,
    )
    topics: Csv = option(
        "ARNs of standard SNS topics that get S3's notifications, of any region; the deploy "
        "subscribes the ingress queue, which a topic of another account has to allow",
        default="",
        example="arn:aws:sns:eu-west-1:444455556666:uploads",
        parse=SNS_TOPIC,
    )
