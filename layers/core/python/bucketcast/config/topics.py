"""The table `[topics]`: the defaults of all topics, as Ceph's global options."""

from dataclasses import dataclass

from bucketcast.settings.options import Limits, option
from bucketcast.settings.types import OnOff

_COUNT = Limits("0", str(2**31 - 1))


@dataclass(frozen=True, kw_only=True)
class TopicOptions:
    """Ceph's options of topics, a limit of topics, and what their records have."""

    time_to_live: int = option(
        "seconds after which an event of a persistent topic is given up; 0 is never",
        default="0",
        limits=_COUNT,
    )
    max_retries: int = option(
        "how often an event is tried again before it is given up; 0 is without end",
        default="0",
        limits=_COUNT,
    )
    retry_sleep_duration: int = option(
        "seconds between two tries; 0 lets the pause grow from 1 s to an hour",
        default="0",
        limits=_COUNT,
    )
    facts: OnOff = option(
        "on: records have the object's metadata and tags, as RGW's have, where object_facts lets "
        "ingest read them, by two reads of S3 for each new object",
        default="on",
    )
    topics_per_user: int = option(
        "how many topics a user may have; 0 is any number",
        default="0",
        example="1000",
        limits=_COUNT,
    )
    allow_secrets_in_cleartext: OnOff = option(
        "let topics log in to Kafka without TLS", default="off"
    )
