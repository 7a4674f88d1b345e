"""Dead letters: by reason, as they would be sent, and back to their target or away."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread
from time import gmtime, strftime
from typing import Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from bucketcast.console.context import Latest, context_of
from bucketcast.console.pages import command, fields, page, render, see
from bucketcast.destination import Destination
from bucketcast.dlq.aws.redrive import Result
from bucketcast.dlq.command.move import Outcome, plan_redrive, purge_letters, redrive_letters
from bucketcast.dlq.command.options import queue_name, to_filter
from bucketcast.dlq.command.queue import select_queue
from bucketcast.dlq.command.read import read_entries, summarize
from bucketcast.dlq.filters import Filter
from bucketcast.dlq.summary import OTHER, Group
from bucketcast.errors import BucketcastError
from bucketcast.terminal import params

_FILTERS: Final = ("reason", "error", "rule", "id")
_MOST: Final = 20
_COUNTED: Final = 2_000
"""Messages of a queue that a page reads before it is shown; SQS gives some hundreds a second."""
_SECONDS: Final = 0.5
_reading: Final = Lock()
"""A reader hides what it reads: two pages at once would each miss some."""


@dataclass
class Run:
    """A redrive or purge; `result` has the counts meanwhile, `outcome` or `error` is the end."""

    what: str
    result: Result = field(default_factory=Result)
    outcome: Outcome | None = None
    error: str = ""


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
        return urlencode({"target": self.target, **self.values}, errors="replace")

    @property
    def words(self) -> list[str]:
        """The arguments of a command."""
        flags = [word for name, text in self.values.items() for word in (f"--{name}", text)]
        return [*([self.target] if self.target else []), *flags]


def show(request: Request) -> Response:
    choice = _choice(request.query_params)
    with _reading:
        summary, notes = summarize(
            context_of(request).quiet,
            choice.queue if choice.target else "",
            choice.wanted,
            _COUNTED,
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
    with _reading:
        entries = read_entries(context_of(request).quiet, choice.queue, choice.wanted, _MOST)
    return page(
        request,
        "letters.html",
        command=command(request, "dlq", "show", *choice.words, "--limit", str(_MOST)),
        choice=choice,
        entries=[(entry, _Choice(choice.target, {"id": entry["id"]})) for entry in entries],
        most=_MOST,
    )


def ask_redrive(request: Request) -> Response:
    choice = _choice(request.query_params)
    with _reading:
        plan = plan_redrive(context_of(request).quiet, choice.queue, choice.wanted, most=_COUNTED)
    return page(
        request,
        "redrive.html",
        command=command(request, "dlq", "redrive", *choice.words),
        choice=choice,
        plan=plan,
    )


def redrive(request: Request) -> Response:
    choice = _choice(fields(request))
    quiet = context_of(request).quiet
    select_queue(quiet, choice.queue)  # a name that is wrong is an answer to the form

    def move(result: Result) -> Outcome:
        return redrive_letters(quiet, choice.queue, choice.wanted, result)

    return _start(request, command(request, "dlq", "redrive", *choice.words), move)


def ask_purge(request: Request) -> Response:
    choice = _choice(request.query_params)
    with _reading:
        summary, notes = summarize(context_of(request).quiet, choice.queue, choice.wanted, _COUNTED)
    name = f"dead-letters-{choice.target.replace(':', '-')}-{strftime('%Y%m%dT%H%M%SZ', gmtime())}"
    path = Path.cwd() / f"{name}.ndjson"
    return page(
        request,
        "purge.html",
        command=command(request, "dlq", "purge", *choice.words, "--file", str(path)),
        choice=choice,
        summary=summary,
        notes=notes,
        file=path,
    )


def purge(request: Request) -> Response:
    form = fields(request)
    choice = _choice(form)
    path = Path(str(params.FILE.convert(form.get("file", ""), None, None)))
    quiet = context_of(request).quiet
    selection = select_queue(quiet, choice.queue)

    def move(result: Result) -> Outcome:
        return purge_letters(quiet, selection, choice.wanted, result, path)

    same = command(request, "dlq", "purge", *choice.words, "--file", str(path))
    return _start(request, same, move)


def show_run(request: Request) -> Response:
    run = _runs(request).find(request.path_params["id"])
    ended = bool(run.outcome or run.error)
    live = "" if ended else f"/live{request.url.path}"
    return page(request, "run.html", live=live, command=run.what, run=run)


async def live_run(request: Request) -> Response:
    run = _runs(request).find(request.path_params["id"])
    return context_of(request).feeds.stream(
        request.url.path, lambda: render("run_parts.html", run=run), _SECONDS
    )


def _start(request: Request, what: str, move: Callable[[Result], Outcome]) -> Response:
    """Move letters in a thread, which may take long; answer with its page."""
    run = Run(what)

    def follow() -> None:
        try:
            run.outcome = move(run.result)
        except BucketcastError as error:
            run.error = str(error)
        finally:
            run.error = run.error or ("" if run.outcome else "it ended unexpectedly")

    Thread(target=follow, daemon=True).start()
    return see(f"/dead-letters/runs/{_runs(request).add(run)}")


def _runs(request: Request) -> Latest[Run]:
    runs: Latest[Run] = request.app.state.runs
    return runs


def _choice(given: Mapping[str, str]) -> _Choice:
    values = {name: text for name in _FILTERS if (text := given.get(name, "").strip())}
    return _Choice(given.get("target", "").strip(), values)


def _choice_of(target: str, group: Group) -> _Choice | None:
    """Return the filter that chooses a group; None if none does."""
    if group.reason == OTHER:
        return None
    values = {"reason": group.common, "error": group.error, "rule": group.rule}
    return _Choice(target, {name: text for name, text in values.items() if text})
