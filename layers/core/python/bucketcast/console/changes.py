"""Forms that change something: each is a command, and asks before it removes anything."""

import re
import secrets
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import click
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from bucketcast.console.answers import Answer, follow, new_answer
from bucketcast.console.context import context_of
from bucketcast.console.forms import ERRORS, SECRET, errors_of, words_of
from bucketcast.console.pages import command, fields, page, render, see
from bucketcast.diagnose.command import doctor, test
from bucketcast.dlq.command.move import purge, redrive
from bucketcast.dlq.command.options import queue_name, to_filter
from bucketcast.dlq.command.read import summarize
from bucketcast.dlq.summary import Summary
from bucketcast.dynamic_targets import command as dynamic
from bucketcast.dynamic_targets.command.pause import pause, resume
from bucketcast.notifications.command import event
from bucketcast.topics import command as topic

_LIVE_SECONDS: Final = 0.5
_KEPT: Final = 50
COUNTED: Final = 2_000
"""Messages of a queue that a page reads before it is shown; SQS gives some hundreds a second."""
reading: Final = Lock()
"""A reader of dead letters hides them: two pages at once would each miss some."""


class Change(NamedTuple):
    """A command as a form, with its first fields, and perhaps the `others`.

    One that is `slow` is shown while it runs.
    """

    command: click.Command
    words: tuple[str, ...]
    back: str
    names: tuple[str, ...]
    others: tuple[str, ...] = ()
    trial: tuple[click.Option, ...] = ()
    slow: bool = False

    @property
    def shown(self) -> list[str]:
        """The words of the command for people: its form is the question."""
        return [word for word in self.words if word != "--yes"]

    @property
    def text(self) -> list[str]:
        """The paragraphs of its help, without examples; the first one says what it does."""
        first, *others = (self.command.help or "").partition("\b")[0].strip().split("\n\n")
        return [re.split("[.:;]", first)[0], *others]

    def next(self, values: Mapping[str, str]) -> str:
        """Return the page to go on with."""
        return self.back.replace("{arn}", quote(values.get("arn", ""), safe=":"))

    def fields(self, names: Sequence[str]) -> list[click.Parameter]:
        return [param for param in self.command.params if param.name in names]


ADD_RULE: Final = Change(
    event.add,
    ("event", "add"),
    "/rules",
    ("bucket", "arn", "events", "prefixes", "suffixes"),
    others=(
        *("regex", "tag", "metadata", "content_type", "size", "storage_class", "principal"),
        *("source_ip", "more", "unless", "name", "ahead"),
    ),
    trial=(
        click.Option(["--key"], metavar="a/b.jpg", help="Would an event of this key match?"),
        click.Option(["--try"], metavar="put", help="The event: put, delete, get, or a name."),
    ),
)
LETTERS: Final = ("target", "reason", "error", "rule", "id")
_CHANGES: Final = {
    "pause": Change(pause, ("target", "pause"), "/targets/{arn}", ("arn",)),
    "resume": Change(resume, ("target", "resume"), "/targets/{arn}", ("arn",)),
    "test": Change(test.command, ("test",), "/targets/{arn}", ("arn",), slow=True),
    "doctor": Change(doctor.command, ("doctor",), "/buckets", (), slow=True),
    "redrive": Change(redrive, ("dlq", "redrive"), "/dead-letters", LETTERS, slow=True),
    "purge": Change(
        purge, ("dlq", "purge", "--yes"), "/dead-letters", (*LETTERS, "path"), slow=True
    ),
    "add-rule": ADD_RULE,
    "remove-rule": Change(event.rm, ("event", "rm"), "/rules", ("bucket", "ids")),
    "add-target": Change(dynamic.add, ("target", "add"), "/topics", ("arn", "settings", "merge")),
    "remove-target": Change(dynamic.rm, ("target", "rm", "--yes"), "/topics", ("arn", "discard")),
    "remove-topic": Change(topic.rm, ("topic", "rm", "--yes"), "/topics", ("name",)),
}


def ask(request: Request) -> Response:
    return form_page(request, _change(request), request.query_params)


def do(request: Request) -> Response:
    change, values = _change(request), fields(request)
    context, given = context_of(request), words(change, values)
    line = command(request, *change.shown, *words(change, values, shown=True))
    run = Run(line, new_answer(context, json=not change.slow), change.next(values))
    try:
        if change.slow:
            change.command.make_context(change.words[-1], list(given), obj=run.answer)
            Thread(target=run.follow, args=([*change.words, *given],), daemon=True).start()
        else:
            follow(run.answer, *change.words, *given)
            run.ended.set()
    except ERRORS as error:
        return form_page(request, change, values, errors_of(error))
    context.deployment.forget()
    shown = change.slow or run.answer.printed
    return see(f"/runs/{_keep(request, run)}" if shown else run.back)


@dataclass
class Run:
    """A command that runs or ran; `back` is the page to go on with."""

    line: str
    answer: Answer
    back: str
    ended: Event = field(default_factory=Event)

    def follow(self, words: Sequence[str]) -> None:
        """Run it to its end; errors are a part of what is shown."""
        try:
            follow(self.answer, *words)
        except ERRORS as error:
            self.answer.fail(str(error))
        except BaseException:
            self.answer.fail("it ended unexpectedly")
            raise
        finally:
            self.ended.set()


def show_run(request: Request) -> Response:
    found = _find_run(request)
    live = "" if found.ended.is_set() else f"/live{request.url.path}"
    return page(request, "run.html", live=live, command=found.line, run=found)


async def live_run(request: Request) -> Response:
    found = _find_run(request)
    return context_of(request).feeds.stream(
        request.url.path, lambda: render("run_parts.html", run=found), _LIVE_SECONDS
    )


def _keep(request: Request, run: Run) -> str:
    """Keep a run for its page; return its id. The oldest makes room."""
    runs: OrderedDict[str, Run] = request.app.state.runs
    id_ = secrets.token_hex(8)
    runs[id_] = run
    if len(runs) > _KEPT:
        runs.popitem(last=False)
    return id_


def _find_run(request: Request) -> Run:
    runs: OrderedDict[str, Run] = request.app.state.runs
    if run := runs.get(request.path_params["id"]):
        return run
    raise HTTPException(404, "This is not known any more.")


def words(change: Change, values: Mapping[str, str], *, shown: bool = False) -> list[str]:
    return words_of(change.fields((*change.names, *change.others)), values, shown=shown)


def form_page(
    request: Request,
    change: Change,
    values: Mapping[str, str],
    errors: Mapping[str, str] = MappingProxyType({}),
    tried: Mapping[str, Any] | None = None,
) -> Response:
    deployment = context_of(request).deployed
    letters = None
    if change.words[0] == "dlq" and not errors:
        letters = count_letters(request, values)
    return page(
        request,
        "form.html",
        status=400 if errors else 200,
        command=command(request, *change.shown, *words(change, values, shown=True)),
        change=change,
        name=next(name for name, each in _CHANGES.items() if each is change),
        back=change.next(values),
        values={name: text for name, text in values.items() if name != SECRET},
        errors=errors,
        tried=tried,
        letters=letters,
        known={
            "bucket": sorted(deployment.buckets),
            "arn": [each.name for each in deployment.targets],
        },
    )


def count_letters(request: Request, values: Mapping[str, str]) -> tuple[Summary, list[str]]:
    """Count the dead letters that a form chooses, as far as a page waits for it."""
    wanted = to_filter({name: values[name] for name in LETTERS[1:] if values.get(name)})
    with reading:
        target = queue_name(values.get("target", ""))
        return summarize(new_answer(context_of(request), json=True), target, wanted, COUNTED)


def _change(request: Request) -> Change:
    try:
        return _CHANGES[request.path_params["name"]]
    except KeyError:
        raise HTTPException(404, "There is no such form.") from None
