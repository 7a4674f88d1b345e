"""Words of commands from the fields of forms, and a command's errors by field.

A form has the parameters of its command as fields. What a field allows is the command's to decide.
"""

from collections.abc import Iterable, Mapping

import click

from bucketcast.deployment import NoTargetError
from bucketcast.errors import BucketcastError, ConfigErrors
from bucketcast.terminal import usage

ERRORS = (click.UsageError, BucketcastError)
"""What a command raises if its words are wrong, or it fails."""
SECRET = "settings"  # noqa: S105 - the parameter that may have secrets: no page repeats it


def words_of(
    fields: Iterable[click.Parameter], values: Mapping[str, str], *, shown: bool = False
) -> list[str]:
    """Return the words for the values of fields; `shown` on a page, they have no secrets."""
    arguments: list[str] = []
    options: list[str] = []
    missing = False
    for param in fields:
        text = values.get(param.name or "", "").replace("\r\n", "\n").strip("\n")
        if shown and param.name == SECRET:
            text = str(param.metavar)
        several = param.multiple or param.nargs == -1
        given = [each for each in (text.split("\n") if several else [text]) if each]
        if isinstance(param, click.Argument):
            missing = missing or (param.required and not given)
            arguments += [] if missing else given  # else the next one would take its place
        elif getattr(param, "is_flag", False):
            options += param.opts[-1:] if given else []
        else:
            options += [word for each in given for word in (param.opts[-1], each)]
    mark = ["--"] if any(each.startswith("-") for each in arguments) else []
    return [*options, *mark, *arguments]


def errors_of(error: Exception) -> dict[str, str]:
    """Return a command's error by the name of its field, "" for none, in the command's words."""
    if isinstance(error, ConfigErrors):
        return {SECRET: str(error)}
    if isinstance(error, click.UsageError):
        param = error.param if isinstance(error, click.BadParameter) else None
        name, label = (param.name, usage.label_of(param)) if param else ("", "")
        return {name or "": usage.text_of(error, label)}
    return {"arn" if isinstance(error, NoTargetError) else "": str(error)}
