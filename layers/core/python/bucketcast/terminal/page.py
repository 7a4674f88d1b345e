"""Generate a target's documentation page from its module's docstring and its options.

`python -m bucketcast.config.reference docs` writes `docs/targets/<kind>.md`.
"""

import inspect
import shlex
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from bucketcast import targets
from bucketcast.destination import TargetArn
from bucketcast.settings.options import Option, options_of, read
from bucketcast.settings.types import REFERENCE
from bucketcast.targets.base import Target
from bucketcast.targets.base.answers import Verdict

_GENERATED = "<!-- Made by `python -m bucketcast.config.reference docs` from the target. -->"
_WHERE = "In `bucketcast.toml`, in place of a table of the same name"
_CONSUMER = "In a second terminal:"
_DEPLOY = """\
On [an AWS account](../deploy.md), or on the local AWS:

```sh
make up
set -a; . .local/env; set +a; export PATH="$PWD/.venv/bin:$PATH"
```"""
_SEE = """\
```sh
aws s3 cp examples/photo.jpg s3://uploads/
bucketcast target ls
```"""


def sentence(option: Option) -> str:
    """Return an option's help with its limits, its default and an example."""
    notes = [str(option.limits)] if option.limits else []
    if option.required:
        notes.append("required")
    elif option.default:
        notes.append(f"default {option.default}")
    if option.example:
        notes.append(f"such as {option.example}")
    return f"{option.help} ({'; '.join(notes)})" if notes else option.help


def own_first(declared: Any) -> dict[str, Option]:
    """Return the options of a kind: its own first, then the common ones."""
    own = declared.__annotations__
    options = options_of(declared)
    return {key: options[key] for key in sorted(options, key=lambda key: key not in own)}


def render(kind: str) -> str:
    """Return the page as Markdown, ending with a newline."""
    target = targets.load(kind)
    docstring = inspect.getdoc(sys.modules[target.__module__]) or ""
    summary, _, manual = docstring.partition("\n")
    title, _, content = summary.partition(": ")
    declared: Any = target.Settings
    options = own_first(declared)
    needed = needed_keys(kind, target)
    shown = [options[key] for key in options if key in needed or options[key].suggested]
    name = TargetArn("primary", target.arn_type).short
    parts = [
        f"# {title}",
        _GENERATED,
        f"{content[0].upper()}{content[1:]}",
        "## 1. Configure",
        f"{_WHERE} ([all keys](../configuration.md#notify_{kind}id)):",
        _fence("toml", [f"[notify_{kind}.primary]", *_toml(kind, shown)]),
        "## 2. Deploy",
        _DEPLOY,
        *(_secret(kind, option) for option in shown if option.hides(option.example)),
        "## 3. Add a rule",
        _fence("sh", [f"bucketcast event add uploads {name} --event put,delete --suffix .jpg"]),
        "## 4. Run a consumer",
        _CONSUMER,
        _fence("sh", _consumer(kind, shown)),
        "## 5. See the event",
        _SEE,
        "## What it does",
        manual.strip(),
        _answers(kind),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _answers(kind: str) -> str:
    """Return what becomes of an event by the server's answers, "" for a kind without a list."""
    name = f"bucketcast.targets.{kind}.answers"
    if find_spec(name) is None:
        return ""
    lines = ["## Answer by answer", ""]
    for verdict in Verdict:
        own = [each.shown for each in import_module(name).ANSWERS.own if each.verdict is verdict]
        shown = "all others" if verdict is Verdict.AGAIN else "; ".join(own)
        if shown:
            lines.append(f"* **{verdict.fate}**: {shown}")
    return "\n".join(lines)


def _secret(kind: str, option: Option) -> str:
    """Return the instructions to store the secret of an option in the example."""
    example = option.example.strip('"')
    name = _example(kind, option).removeprefix(REFERENCE)
    command = f'aws secretsmanager create-secret --name {name} --secret-string "$(cat)"'
    return (
        f"Store the secret: type the value of `{option.key}`, such as `{example}`, then Enter and "
        f"Ctrl-D.\n\n{_fence('sh', [command])}"
    )


def _toml(kind: str, options: Any) -> Iterator[str]:
    for option in options:
        yield f'{option.key} = "{_example(kind, option)}"'


def _consumer(kind: str, options: list[Option]) -> Iterator[str]:
    """Yield the commands that print what the example delivers, its secrets as variables."""
    command = [f".venv/bin/python examples/consume.py {kind}"]
    for option in options:
        value = shlex.quote(option.example.strip('"'))
        if option.hides(option.example):
            yield "export " + f"{kind}_{option.key}".upper() + f"={value}"
        else:
            command.append(f"--{option.key} {value}")
    yield " ".join(command)


def needed_keys(kind: str, target: type[Target]) -> list[str]:
    """Return the keys of an example: all required ones, and those that `check` demands."""
    declared: Any = target.Settings
    options = own_first(declared)
    needed = [key for key, option in options.items() if option.required]
    settings = read(declared, {key: _example(kind, options[key]) for key in needed})
    missing = {key for key, found, _ in target.check(settings) if found == "missing"}
    return [key for key in options if key in missing.union(needed)]


def _example(kind: str, option: Option) -> str:
    hidden = option.hides(option.example)
    return f"{REFERENCE}{kind}-primary" if hidden else option.example or f"the-{option.key}"


def _fence(language: str, lines: Any) -> str:
    return "\n".join([f"```{language}", *lines, "```"])
