"""The table `[topics]`: what holds where a topic says nothing of its own, as Ceph's globals."""

from collections.abc import Iterator
from dataclasses import dataclass

from bucketcast.errors import ConfigError
from bucketcast.options import option, options_of
from bucketcast.topics.model import TopicDefaults

_LARGEST = 2**31 - 1


@dataclass(frozen=True, kw_only=True)
class TopicOptions:
    """Ceph's `rgw_topic_persistency_time_to_live`, `…_max_retries` and `…_sleep_duration`."""

    time_to_live: int = option(
        "seconds after which an event of a persistent topic is given up; 0 is never", default="0"
    )
    max_retries: int = option(
        "how often an event is tried again before it is given up; 0 is without end", default="0"
    )
    retry_sleep_duration: int = option(
        "seconds between two tries; 0 lets the pause grow from 1 s to 20 minutes", default="0"
    )


def mistakes(options: TopicOptions) -> Iterator[ConfigError]:
    """What is wrong with them, beyond what the single options show."""
    for key in options_of(TopicOptions):
        found = getattr(options, key)
        if not 0 <= found <= _LARGEST:
            yield ConfigError(f"topics.{key}", f"found {found}", f"allowed is 0 to {_LARGEST}")


def defaults(options: TopicOptions) -> TopicDefaults:
    """What they amount to."""
    return TopicDefaults(
        time_to_live=options.time_to_live,
        max_retries=options.max_retries,
        retry_sleep_duration=options.retry_sleep_duration,
    )
