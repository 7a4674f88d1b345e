"""Generate the pages of the configuration: `python -m bucketcast.config.reference docs`.

It writes `docs/configuration.md`, with every key, and `docs/targets/<kind>.md`.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bucketcast import targets
from bucketcast.config.bucket import Bucket
from bucketcast.config.function import Deploy
from bucketcast.config.pipeline import ScanOptions
from bucketcast.config.reader import TABLES
from bucketcast.config.stack import StackOptions
from bucketcast.settings.options import Option
from bucketcast.terminal import page

_INTRODUCTION = """\
# Every key of the configuration

<!-- Made by `python -m bucketcast.config.reference docs` from the declarations of the options. -->

`bucketcast config` checks the file and shows what is in effect; `bucketcast config --help` prints
this page. A key without a type is text, and one without a default is empty. Any value of a target
may be `secret:NAME`, which is read from AWS Secrets Manager, or `secret:NAME#FIELD`, a field of a
JSON secret; a local deploy accepts the value itself.

A target's keys may also come from the environment of the deploy, which overrides the file:
`MINIO_NOTIFY_`, the kind, the key and the target's id, such as
`MINIO_NOTIFY_WEBHOOK_ENDPOINT_primary`. `MINIO_API_SYNC_EVENTS` is `sync_events`."""


def sections() -> Iterator[tuple[str, Any, str]]:
    """Yield each table's title, its options, and how their environment variables are shown."""
    yield "Top-level keys", StackOptions, ""
    yield "[bucket.NAME]", Bucket, ""
    for kind in targets.kinds():
        settings = targets.load(kind).Settings
        yield f"[notify_{kind}.ID]", settings, f"MINIO_NOTIFY_{kind.upper()}_{{}}_ID"
    yield "[notify_KIND.ID.deploy]", Deploy, ""
    for name, declared in TABLES.items():
        yield f"[{name}]", declared, ""
    yield "[scan.BUCKET]", ScanOptions, ""


def render() -> str:
    """Return the page of all keys as Markdown."""
    common = _common()
    parts = [_INTRODUCTION]
    for title, declared, variables in sections():
        options = page.own_first(declared)
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
            _list(own, page.needed_keys(kind, targets.load(kind))),
        ]
    return "\n\n".join(parts) + "\n"


def _common() -> dict[str, Option]:
    """Return the options that most kinds of target declare alike."""
    kinds = [page.own_first(targets.load(kind).Settings) for kind in targets.kinds()]
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


def write(folder: Path) -> None:
    """Write all pages into a folder of documentation."""
    (folder / "targets").mkdir(parents=True, exist_ok=True)
    (folder / "configuration.md").write_text(render(), encoding="utf-8")
    for kind in targets.kinds():
        (folder / "targets" / f"{kind}.md").write_text(page.render(kind), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
