"""The options that choose dead letters."""

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

import click

from bucketcast.dlq.filters import Filter
from bucketcast.dlq.letter import GROUP_DIGITS
from bucketcast.terminal import params
from bucketcast.terminal.completion import completed, targets

_GROUP: Final = re.compile(f"[0-9a-f]{{{GROUP_DIGITS}}}")
F = TypeVar("F", bound=Callable[..., Any])
_FILTERS: Final = (
    ("--reason", "reason", {"metavar": "TEXT", "help": "Part of the reason, in any case."}),
    ("--bucket", "bucket", {"type": params.bucket_name, "metavar": "NAME", "help": "The bucket."}),
    ("--prefix", "prefix", {"metavar": "TEXT", "help": "Key prefix."}),
    ("--id", "ids", {"metavar": "ID", "multiple": True, "help": "Id of a message or an event."}),
)


class Chosen(NamedTuple):
    """A dead-letter queue by its name, "" for all, and the id of a group, "" for all."""

    queue: str = ""
    group: str = ""


@completed(targets)
def queue_name(text: str) -> str:
    """Return the name of a dead-letter queue, the ARN if it is a target's or a topic's."""
    return params.target_or_topic(text).plain if ":" in text else text


@completed(targets)
def chosen(text: str) -> Chosen:
    """Return a queue, or a group of its letters: `webhook:primary/0123456789`.

    Raises:
        BadParameter: what follows the slash is no id of a group.
    """
    name, slash, group = text.partition("/")
    if slash and not _GROUP.fullmatch(group):
        raise click.BadParameter(
            f"'{group}' is no group of {name}; `bucketcast dlq ls` lists them as {name}/…"
        )
    return Chosen(queue_name(name), group)


def filter_options(command: F) -> F:
    """Add the options that choose dead letters; `to_filter` takes them."""
    for flag, name, parameters in reversed(_FILTERS):
        command = click.option(flag, name, **parameters)(command)
    return command


def to_filter(target: Chosen, options: dict[str, Any]) -> Filter:
    """Return the filter of these options, for letters of the group that is chosen."""
    given = {name: value for name, value in options.items() if value is not None}
    return Filter(group=target.group, **given)
