"""Fields of forms, from the options of commands, and the words that they stand for.

What a field allows is the command's to decide: its errors are shown at the field.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import click

from bucketcast.deployment import NoTargetError
from bucketcast.errors import BucketcastError, ConfigErrors
from bucketcast.settings.options import Option

_OF_ALL_COMMANDS = frozenset({"stack", "json"})


class Field(NamedTuple):
    """A field: `lines` if it has several values, a line each; `known` are some values."""

    name: str
    label: str
    help: str = ""
    example: str = ""
    required: bool = False
    lines: bool = False
    flag: bool = False
    secret: bool = False
    known: Sequence[str] = ()


def fields_of(
    command: click.Command,
    known: Mapping[str, Sequence[str]],
    without: Collection[str] = (),
) -> list[Field]:
    """Return the fields of a command; `known` are values by names of parameters."""
    return [
        Field(
            param.name or "",
            _label(param),
            getattr(param, "help", None) or "",
            str(param.metavar or ""),
            param.required,
            lines=getattr(param, "multiple", False),
            flag=getattr(param, "is_flag", False),
            known=known.get(param.name or "", ()),
        )
        for param in _params(command)
        if param.name not in without
    ]


def words_of(command: click.Command, values: Mapping[str, str]) -> list[str]:
    """Return the arguments of a command for the values of its fields."""
    arguments: list[str] = []
    options: list[str] = []
    for param in _params(command):
        text = values.get(param.name or "", "").replace("\r\n", "\n").strip("\n")
        if isinstance(param, click.Argument):
            arguments += [text] if text else []
        elif getattr(param, "is_flag", False):
            options += [_option(param)] if text else []
        else:
            several = getattr(param, "multiple", False)
            given = [line for line in text.split("\n") if line] if several else [text]
            options += [word for value in given if value for word in (_option(param), value)]
    mark = ["--"] if any(text.startswith("-") for text in arguments) else []
    return [*options, *mark, *arguments]


def setting_field(option: Option) -> Field:
    """Return the field of a target's setting."""
    allowed = option.type if option.limits is None else f"{option.type}, {option.limits}"
    default = f"; default {option.default}" if option.default else ""
    return Field(
        option.key,
        option.key,
        f"{option.help} ({allowed}{default})",
        option.example,
        option.required,
        lines=option.pem or option.seed,
        secret=option.secret,
    )


def errors_of(error: Exception) -> dict[str, str]:
    """Return a command's error by the name of its field, "" for none, in the command's words."""
    if isinstance(error, ConfigErrors):
        return {each.key.rpartition(".")[2]: str(each) for each in error.errors}
    if isinstance(error, click.BadParameter) and error.param and error.param.name:
        return {error.param.name: error.format_message()}
    if isinstance(error, click.UsageError):
        return {"": error.format_message()}
    return {"arn" if isinstance(error, NoTargetError) else "": str(error)}


ERRORS = (click.UsageError, BucketcastError)
"""What a command raises if its words are wrong, or it fails."""


def _params(command: click.Command) -> Iterator[click.Parameter]:
    return (param for param in command.params if param.name not in _OF_ALL_COMMANDS)


def _label(param: click.Parameter) -> str:
    if isinstance(param, click.Argument):
        return param.human_readable_name.strip("[]").lower()
    return _option(param).removeprefix("--").replace("-", " ")


def _option(param: click.Parameter) -> str:
    return max(param.opts, key=len)
