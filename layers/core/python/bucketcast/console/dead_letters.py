"""Dead letters: by reason, as they would be sent, and back to their target or away."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import gmtime, strftime
from typing import Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from bucketcast.console.changes import COUNTED, reading
from bucketcast.console.context import context_of
from bucketcast.console.pages import command, page
from bucketcast.destination import Destination
from bucketcast.dlq.command.options import queue_name, to_filter
from bucketcast.dlq.command.read import read_entries, summarize
from bucketcast.dlq.filters import Filter
from bucketcast.dlq.summary import OTHER, Group

_FILTERS: Final = ("reason", "error", "rule", "id")
_MOST: Final = 20


@dataclass(frozen=True, slots=True)
class _Choice:
    """The letters that an address or a form chooses; `target` is as people write it."""

    target: str
    values: Mapping[str, str]

    @property
    def queue(self) -> str:
        return queue_name(self.target)

    @property
    def wanted(self) -> Filter:
        return to_filter(dict(self.values))

    @property
    def query(self) -> str:
        at = strftime("%Y%m%dT%H%M%SZ", gmtime())
        file = Path.cwd() / f"dead-letters-{self.target.replace(':', '-')}-{at}.ndjson"
        chosen = {"target": self.target, **self.values, "path": file}
        return urlencode(chosen, errors="replace")

    @property
    def words(self) -> list[str]:
        """The arguments of a command."""
        flags = [word for name, text in self.values.items() for word in (f"--{name}", text)]
        return [*([self.target] if self.target else []), *flags]


def show(request: Request) -> Response:
    choice = _choice(request.query_params)
    with reading:
        summary, notes = summarize(
            context_of(request).quiet,
            choice.queue if choice.target else "",
            choice.wanted,
            COUNTED,
        )
    targets: dict[str, list[tuple[Group, _Choice | None]]] = {}
    for group in summary.groups():
        name = Destination.of(group.target).short
        targets.setdefault(name, []).append((group, _choice_of(name, group)))
    return page(
        request,
        "dead_letters.html",
        command=command(request, "dlq", "ls", *choice.words),
        choice=choice,
        targets=[(_Choice(name, {}), groups) for name, groups in targets.items()],
        events=summary.events,
        notes=notes,
    )


def show_letters(request: Request) -> Response:
    choice = _choice(request.query_params)
    with reading:
        entries = read_entries(context_of(request).quiet, choice.queue, choice.wanted, _MOST)
    return page(
        request,
        "letters.html",
        command=command(request, "dlq", "show", *choice.words, "--limit", str(_MOST)),
        choice=choice,
        entries=[(entry, _Choice(choice.target, {"id": entry["id"]})) for entry in entries],
        most=_MOST,
    )


def _choice(given: Mapping[str, str]) -> _Choice:
    values = {name: text for name in _FILTERS if (text := given.get(name, "").strip())}
    return _Choice(given.get("target", "").strip(), values)


def _choice_of(target: str, group: Group) -> _Choice | None:
    """Return the filter that chooses a group; None if none does."""
    if group.reason == OTHER:
        return None
    values = {"reason": group.common, "error": group.error, "rule": group.rule}
    return _Choice(target, {name: text for name, text in values.items() if text})
