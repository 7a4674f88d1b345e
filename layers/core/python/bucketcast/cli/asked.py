"""What a rule asks of an event: options that `event add` and `event rm` share."""

from collections.abc import Callable, Mapping, Sequence
from shlex import quote
from typing import Any, TypeVar

import click

from bucketcast.cli import words
from bucketcast.conditions import Condition
from bucketcast.rules import Rule
from bucketcast.wording import joined, parse, texts

F = TypeVar("F", bound=Callable[..., Any])

_WILD = frozenset("*?")
# The option, what its value is the end of in the grammar of conditions, metavar and help.
_SHORT = (
    ("regex", "key~=", "REGEX", "What the whole key matches, in RE2's syntax."),
    ("tag", "tag:", "NAME=VALUE", "A tag of the object."),
    ("metadata", "metadata:", "NAME=VALUE", "Metadata; x-amz-meta- may be left out."),
    ("content-type", "content_type=", "TYPE", "As in image/jpeg."),
    ("size", "size=", "RANGE", "Bytes, as in 1KiB-10MB, 5GB- or -1024."),
    ("storage-class", "storage_class=", "CLASS", "As in STANDARD."),
    ("principal", "principal=", "ID", "Who asked for it."),
    ("source-ip", "source_ip=", "ADDRESS", "From where: an address or a network."),
)
_CONDITION = "ON OP VALUE"
_OPTIONS = (
    click.option(
        "--prefix",
        "prefixes",
        multiple=True,
        type=words.key_part,
        metavar="TEXT",
        help="What keys begin with; alone, * and ? are wild.",
    ),
    click.option(
        "--suffix",
        "suffixes",
        multiple=True,
        type=words.key_part,
        metavar="TEXT",
        help="What keys end with; alone, * and ? are wild.",
    ),
    *(
        click.option(
            f"--{option}", multiple=True, type=words.condition(begins), metavar=metavar, help=help
        )
        for option, begins, metavar, help in _SHORT  # noqa: A001 - click's word
    ),
    click.option(
        "--if",
        "more",
        multiple=True,
        type=words.condition(),
        metavar=_CONDITION,
        help="Any of these, and with = ^= $= ~=: content_type^=image/",
    ),
    click.option(
        "--not",
        "unless",
        multiple=True,
        type=words.condition(unless=True),
        metavar=_CONDITION,
        help="The same, and it must not hold: tag:class=private",
    ),
    click.option(
        "--name",
        type=words.rule_name,
        metavar="NAME",
        help="Send a copy of its own, called so, whatever other rules of the target match.",
    ),
)


def options(command: F) -> F:
    """Give a command the options that say what a rule asks for."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """A rule's prefix, suffix, conditions and name from the values of the options."""
    prefix, begins = _ends("prefix", given["prefixes"])
    suffix, ends = _ends("suffix", given["suffixes"])
    short = [one for option, *_ in _SHORT for one in given[option.replace("-", "_")]]
    conditions = joined([*begins, *ends, *short, *given["more"], *given["unless"]])
    return {
        "prefix": prefix,
        "suffix": suffix,
        "conditions": conditions,
        "name": given["name"] or "",
    }


def shown(rule: Rule) -> str:
    """The options that ask for a rule's conditions, as a shell takes them."""
    return " ".join(
        f"--{'not' if condition.unless else 'if'} {quote(text)}"
        for condition in rule.conditions
        for text in texts(condition)
    )


def _ends(how: str, given: Sequence[str]) -> tuple[str, list[Condition]]:
    """One end of the key, which may be wild, or the condition that it is one of several."""
    if len(given) <= 1:
        return "".join(given), []
    wild = next((text for text in given if _WILD & set(text)), None)
    if wild is not None:
        raise click.UsageError(
            f"--{how}: found the wildcards of '{wild}' beside another {how}; "
            "allowed are several without wildcards, or one"
        )
    operator = {"prefix": "^=", "suffix": "$="}[how]
    return "", [parse(f"key{operator}{text}") for text in given]
