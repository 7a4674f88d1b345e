"""A rule's filters: the options that `event add` and `event rm` share."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

from bucketcast.rules.conditions import Condition
from bucketcast.rules.grammar import merge, parse
from bucketcast.terminal import params

F = TypeVar("F", bound=Callable[..., Any])

_WILD = frozenset("*?")
# Option, the prefix that makes its value a condition, metavar and help.
_SHORT = (
    ("regex", "key~=", "REGEX", "Regular expression (RE2 syntax) that the whole key must match."),
    ("tag", "tag:", "NAME=VALUE", "An object tag."),
    ("metadata", "metadata:", "NAME=VALUE", "User metadata; the prefix x-amz-meta- is optional."),
    ("content-type", "content_type=", "TYPE", "Content type, e.g. image/jpeg."),
    ("size", "size=", "RANGE", "Size range in bytes, e.g. 1KiB-10MB, 5GB- or -1024."),
    ("storage-class", "storage_class=", "CLASS", "Storage class, e.g. STANDARD."),
    ("principal", "principal=", "ID", "Principal that made the request."),
    ("source-ip", "source_ip=", "ADDRESS", "Client address or network (CIDR)."),
)
_CONDITION = "ON OP VALUE"
_OPTIONS = (
    *(
        click.option(
            f"--{end}",
            f"{end}es",
            multiple=True,
            type=params.key_part,
            metavar="TEXT",
            help=f"Key {end}; a single value may contain the wildcards * and ?.",
        )
        for end in ("prefix", "suffix")
    ),
    *(
        click.option(
            f"--{option}", multiple=True, type=params.condition(begins), metavar=metavar, help=help
        )
        for option, begins, metavar, help in _SHORT  # noqa: A001 - click's word
    ),
    click.option(
        "--if",
        "more",
        multiple=True,
        type=params.condition(),
        metavar=_CONDITION,
        help="Any condition, with the operators = ^= $= ~=, e.g. content_type^=image/",
    ),
    click.option(
        "--not",
        "unless",
        multiple=True,
        type=params.condition(unless=True),
        metavar=_CONDITION,
        help="A condition that must not hold, e.g. tag:class=private",
    ),
    click.option(
        "--name",
        type=params.rule_name,
        metavar="NAME",
        help="Name of the rule. A named rule sends its own copy, even if other rules also match.",
    ),
)


def options(command: F) -> F:
    """Add the filter options to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a rule's prefix, suffix, conditions and name from the option values."""
    prefix, begins = _ends("prefix", given["prefixes"])
    suffix, ends = _ends("suffix", given["suffixes"])
    short = [condition for option, *_ in _SHORT for condition in given[option.replace("-", "_")]]
    conditions = merge([*begins, *ends, *short, *given["more"], *given["unless"]])
    return {
        "prefix": prefix,
        "suffix": suffix,
        "conditions": conditions,
        "name": given["name"] or "",
    }


def _ends(option: str, values: Sequence[str]) -> tuple[str, list[Condition]]:
    """Return a single prefix or suffix, or the condition that matches any of several."""
    if len(values) <= 1:
        return "".join(values), []
    with_wildcards = next((text for text in values if _WILD & set(text)), None)
    if with_wildcards is not None:
        raise click.UsageError(
            f"--{option}: found '{with_wildcards}' with wildcards among several values; "
            "allowed is one value with wildcards, or several without"
        )
    operator = {"prefix": "^=", "suffix": "$="}[option]
    return "", [parse(f"key{operator}{text}") for text in values]
