"""What is wrong with the words of a command, in one style: `FIELD: what was found; what to do`."""

import click

from bucketcast.errors import did_you_mean


def text_of(error: click.UsageError, field: str = "") -> str:
    """Return the error of a command's words; `field` replaces the name of the wrong parameter."""
    message = error.message
    if isinstance(error, click.NoSuchCommand):
        return _unknown("command", error.command_name, error.ctx)
    if isinstance(error, click.NoSuchOption):
        return _unknown("option", error.option_name, error.ctx)
    if isinstance(error, click.MissingParameter):
        return f"{field or field_of(error)} is missing"
    if message.endswith((".", ")")):  # Click's own
        message = message[0].lower() + message[1:].removesuffix(".")
    field = field or field_of(error)
    return f"{field}: {message}" if field else message


def field_of(error: click.UsageError) -> str:
    """Return the option or argument that is wrong, as it is typed; "" if it is not one alone."""
    if isinstance(error, click.NoSuchOption):
        return error.option_name
    if not isinstance(error, click.BadParameter):
        return ""
    return name_of(error.param) if error.param else str(error.param_hint or "")


def name_of(param: click.Parameter) -> str:
    """Return an option or argument as it is typed."""
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    name = param.human_readable_name
    return name[1:-1] if name.startswith("[") else name  # an optional argument


def label_of(param: click.Parameter) -> str:
    """Return the name of an option or argument in a form."""
    return name_of(param).removeprefix("--").lower()


def _unknown(what: str, word: str, context: click.Context | None) -> str:
    known = _known(what, context) if context else []
    return f"unknown {what} '{word}': {did_you_mean(word, known)}{what}s are {', '.join(known)}"


def _known(what: str, context: click.Context) -> list[str]:
    command = context.command
    if what == "command" and isinstance(command, click.Group):
        return command.list_commands(context)
    return [
        max(param.opts, key=len)
        for param in command.get_params(context)
        if isinstance(param, click.Option)
    ]
