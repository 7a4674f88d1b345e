"""Write the pages of the configuration: `python -m tests.reference`.

They are `docs/configuration.md`, with every key, and `docs/targets/<kind>.md`, from a kind's
docstring and options.
"""

import inspect
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from bucketcast import targets
from bucketcast.config.command import sections
from bucketcast.destination import TargetArn
from bucketcast.settings.options import Option, own_first, read
from bucketcast.settings.types import REFERENCE
from bucketcast.targets.base import Target
from bucketcast.targets.base.answers import Verdict

PAGES: Final = Path(__file__).parents[1] / "docs"
_GENERATED = "<!-- Made by `python -m tests.reference` from the target. -->"
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
_INTRODUCTION = """\
# Every key of the configuration

<!-- Made by `python -m tests.reference` from the declarations of the options. -->

`bucketcast config` checks the file and shows what is in effect; `bucketcast config --help` prints
this page. A key without a type is text, and one without a default is empty. Any value of a target
may be `secret:NAME`, which is read from AWS Secrets Manager, or `secret:NAME#FIELD`, a field of a
JSON secret; a local deploy accepts the value itself.

A target's keys may also come from the environment of the deploy, which overrides the file:
`MINIO_NOTIFY_`, the kind, the key and the target's id, such as
`MINIO_NOTIFY_WEBHOOK_ENDPOINT_primary`. `MINIO_API_SYNC_EVENTS` is `sync_events`."""


def all_keys() -> str:
    """Return the page of all keys as Markdown."""
    common = _common()
    parts = [_INTRODUCTION]
    for title, declared, variables in sections():
        options = own_first(declared)
        if not variables:
            required = [key for key, option in options.items() if option.required]
            parts += [_heading(title), _list(options, required)]
            continue
        kind = title.removeprefix("[notify_").removesuffix(".ID]")
        if kind == targets.kinds()[0]:
            parts += ["## `[notify_KIND.ID]`, nearly every target", _list(common, [])]
        alike = {
            key for key in common if key in options and _text(options[key]) == _text(common[key])
        }
        own = {key: option for key, option in options.items() if key not in alike}
        parts += [
            _heading(title),
            f"See [its page](targets/{kind}.md).{_lacks(options, common)}",
            _list(own, needed_keys(kind, targets.load(kind))),
        ]
    return "\n\n".join(parts) + "\n"


def _common() -> dict[str, Option]:
    """Return the options that most kinds of target declare alike."""
    kinds = [own_first(targets.load(kind).Settings) for kind in targets.kinds()]
    declared = Counter(_text(option) for options in kinds for option in options.values())
    return {
        key: option
        for options in kinds
        for key, option in options.items()
        if declared[_text(option)] > len(kinds) / 2
    }


def _text(option: Option) -> str:
    return f"{option.key}{_describe(option, needed=False)}"


def _lacks(options: Mapping[str, Option], common: Mapping[str, Option]) -> str:
    missing = ", ".join(f"`{key}`" for key in common if key not in options)
    return f" It has no {missing}." if missing else ""


def _heading(title: str) -> str:
    return f"## `{title}`" if title.startswith("[") else f"## {title}"


def _list(options: Mapping[str, Option], needed: list[str]) -> str:
    lines = (f"* `{key}`{_describe(options[key], needed=key in needed)}" for key in options)
    return "\n".join(lines)


def _describe(option: Option, *, needed: bool) -> str:
    notes = [option.type if option.type != "string" else "", str(option.limits or "")]
    notes += ["**required**" if needed else f"default `{option.default}`" * bool(option.default)]
    example = f", such as `{option.example}`" if option.example else ""
    stated = ", ".join(note for note in notes if note)
    return f"{f' ({stated})' if stated else ''}: {option.help}{example}"


def page(kind: str) -> str:
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


if __name__ == "__main__":
    (PAGES / "configuration.md").write_text(all_keys(), encoding="utf-8")
    for each in targets.kinds():
        (PAGES / "targets" / f"{each}.md").write_text(page(each), encoding="utf-8")
