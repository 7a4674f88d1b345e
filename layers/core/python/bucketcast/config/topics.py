"""The table `[topics]`: what holds where a topic says nothing of its own, as Ceph's globals."""

from collections.abc import Iterator
from dataclasses import dataclass

from bucketcast.errors import ConfigError
from bucketcast.settings.options import OnOff, option, options_of
from bucketcast.topics.model import TopicDefaults

_LARGEST = 2**31 - 1
_MOST_DAYS = 365


@dataclass(frozen=True, kw_only=True)
class TopicOptions:
    """Ceph's `rgw_topic_persistency_…` options, and those of subscriptions."""

    time_to_live: int = option(
        "seconds after which an event of a persistent topic is given up; 0 is never", default="0"
    )
    max_retries: int = option(
        "how often an event is tried again before it is given up; 0 is without end", default="0"
    )
    retry_sleep_duration: int = option(
        "seconds between two tries; 0 lets the pause grow from 1 s to 20 minutes", default="0"
    )
    pull: OnOff = option(
        "whether topics have subscriptions, whose events are stored and pulled; buckets cannot be "
        "called topics, subscriptions or notifications then",
        default="off",
    )
    events_retention_days: int = option(
        "days for which the events of subscriptions are kept, 1 to 365", default="7"
    )
    topics_per_user: int = option(
        "how many topics a user may have; 0 is any number", default="0", example="1000"
    )


def validation_errors(options: TopicOptions) -> Iterator[ConfigError]:
    """What is wrong with them, beyond what the single options show."""
    for key in options_of(TopicOptions):
        found = getattr(options, key)
        if not 0 <= found <= _LARGEST:
            yield ConfigError(f"topics.{key}", f"found {found}", f"allowed is 0 to {_LARGEST}")
    days = options.events_retention_days
    if not 1 <= days <= _MOST_DAYS:
        yield ConfigError(
            "topics.events_retention_days", f"found {days}", f"allowed is 1 to {_MOST_DAYS}"
        )


def defaults(options: TopicOptions) -> TopicDefaults:
    """What they amount to."""
    return TopicDefaults(
        time_to_live=options.time_to_live,
        max_retries=options.max_retries,
        retry_sleep_duration=options.retry_sleep_duration,
        pull=options.pull,
        events_retention_days=options.events_retention_days,
        topics_per_user=options.topics_per_user,
    )
