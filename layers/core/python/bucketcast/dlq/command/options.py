"""The options that choose dead letters."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from bucketcast.dlq.filters import Filter
from bucketcast.terminal import params

F = TypeVar("F", bound=Callable[..., Any])
_FILTERS: Final = (
    ("--reason", "reason", {"metavar": "TEXT", "help": "Part of the reason, in any case."}),
    ("--error", "error", {"metavar": "CLASS", "help": "Class of the error, e.g. Rejected."}),
    ("--rule", "rule", {"metavar": "ID", "help": "Id or name of the rule."}),
    (
        "--older-than",
        "older",
        {"type": params.since, "metavar": "DURATION", "help": "Dead for at least, e.g. 24h."},
    ),
    (
        "--newer-than",
        "newer",
        {"type": params.since, "metavar": "DURATION", "help": "Dead for at most, e.g. 30m."},
    ),
    (
        "--event",
        "names",
        {"type": params.events, "metavar": "EVENTS", "help": "Events, e.g. put,delete."},
    ),
    ("--bucket", "bucket", {"type": params.bucket_name, "metavar": "NAME", "help": "The bucket."}),
    ("--prefix", "prefix", {"metavar": "TEXT", "help": "Key prefix."}),
    ("--id", "id", {"metavar": "ID", "help": "Id of a message or of an event."}),
)


def queue_name(text: str) -> str:
    """Return the name of a dead-letter queue, the ARN if it is a target's or a topic's."""
    return params.target_or_topic(text).plain if ":" in text else text


def filter_options(command: F) -> F:
    """Add the options that choose dead letters; `to_filter` takes them."""
    for flag, name, parameters in reversed(_FILTERS):
        command = click.option(flag, name, **parameters)(command)
    return command


def to_filter(options: dict[str, Any]) -> Filter:
    """Return the filter of these options."""
    return Filter(**{name: value for name, value in options.items() if value is not None})
