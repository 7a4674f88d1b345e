"""Forms that change something: each is a command, and asks before it removes anything."""

import re
import secrets
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from threading import Thread
from types import MappingProxyType
from typing import Final, NamedTuple
from urllib.parse import quote, urlencode

import click
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from bucketcast.aws.clients import aws_errors
from bucketcast.console.answers import Answer, stream
from bucketcast.console.context import context_of
from bucketcast.console.dead_letters import LETTERS, asked, begin, list_groups, reading
from bucketcast.console.forms import ERRORS, SECRET, errors_of, words_of
from bucketcast.console.pages import command_line, page
from bucketcast.diagnose.command import doctor, send, test
from bucketcast.dlq.command.move import purge, redrive
from bucketcast.dynamic_targets import command as dynamic
from bucketcast.dynamic_targets.command.pause import pause, resume
from bucketcast.notifications.command import event
from bucketcast.state.rules import Rules
from bucketcast.terminal import hanging, params
from bucketcast.topics import command as topic

_LIVE_SECONDS: Final = 0.5
_KEPT: Final = 50


class Change(NamedTuple):
    """A command as a form, with its first fields, and perhaps the `others`.

    One that is `slow` is shown while it runs.
    """

    command: click.Command
    words: tuple[str, ...]
    back: str
    names: tuple[str, ...]
    others: tuple[str, ...] = ()
    slow: bool = False

    @property
    def text(self) -> list[str]:
        """The paragraphs of its help, without examples; the first one says what it does."""
        first, *others = (self.command.help or "").partition("\b")[0].strip().split("\n\n")
        return [re.split("[.:;]", first)[0], *others]

    @property
    def destroys(self) -> bool:
        """True if the command says so: it would ask, unless it gets `--yes`."""
        return any(param.name == "yes" for param in self.command.params)

    def next(self, values: Mapping[str, str]) -> str:
        """Return the page to go on with."""
        return self.back.replace("{arn}", quote(values.get("arn", ""), safe=":"))

    def fields(self, names: Sequence[str]) -> list[click.Parameter]:
        return [param for param in self.command.params if param.name in names]


_MOVED: Final = (*LETTERS, "limit")
_CHANGES: Final = {
    "pause": Change(pause, ("target", "pause"), "/targets/{arn}", ("arn",)),
    "resume": Change(resume, ("target", "resume"), "/targets/{arn}", ("arn",)),
    "test": Change(test.command, ("test",), "/targets/{arn}", ("arn",), slow=True),
    "send": Change(send.command, ("send",), "/events", ("uri", "arn", "version"), slow=True),
    "doctor": Change(doctor.command, ("doctor",), "/doctor", (), slow=True),
    "redrive": Change(redrive, ("dlq", "redrive"), "/dead-letters", _MOVED, slow=True),
    "purge": Change(purge, ("dlq", "purge"), "/dead-letters", (*_MOVED, "path"), slow=True),
    "add-rule": Change(
        event.add,
        ("event", "add"),
        "/rules",
        ("bucket", "arn", "events", "prefixes", "suffixes"),
        others=(
            *("regex", "tag", "metadata", "content_type", "size", "storage_class", "principal"),
            *("source_ip", "more", "unless", "name", "ahead"),
        ),
    ),
    "remove-rule": Change(event.rm, ("event", "rm"), "/rules", ("bucket", "ids")),
    "add-target": Change(dynamic.add, ("target", "add"), "/", ("arn", "settings")),
    "set-target": Change(dynamic.set_, ("target", "set"), "/targets/{arn}", ("arn", "settings")),
    "remove-target": Change(dynamic.rm, ("target", "rm"), "/", ("arn", "discard", "rules")),
    "remove-topic": Change(topic.rm, ("topic", "rm"), "/topics", ("name",)),
}


def ask(request: Request) -> Response:
    query = request.query_params
    # Not all white space: a key may begin or end with it.
    values = {name: "\n".join(query.getlist(name)).strip("\n") for name in query}
    if values.get("ids") == "":
        raise click.UsageError("Nothing is picked.")
    return form_page(request, _change(request), values)


def show_doctor(request: Request) -> Response:
    """Find what is wrong, now."""
    request.path_params["name"] = "doctor"
    return do(request, {})


def do(request: Request, values: Mapping[str, str]) -> Response:
    change = _change(request)
    # The form is the question that the command would ask.
    given = [*(["--yes"] if change.destroys else []), *words(change, values)]
    answer = Answer(
        context=context_of(request),
        json=not change.slow,
        command=command_line(request, *change.words, *words(change, values, shown=True)),
        id="run",
        back=change.next(values),
    )
    if not values.get("ids", "").strip() and ("picked" in values or change.command is event.rm):
        return form_page(request, change, values, {"ids": "nothing is picked"})
    try:
        if change.slow:
            change.command.make_context(change.words[-1], [*given], obj=answer)
            answer.runs = True
            Thread(target=_follow, args=(request, answer, change, given), daemon=True).start()
        else:
            answer.run(change.command, given)
    except ERRORS as error:
        return form_page(request, change, values, errors_of(error))
    answer.context.deployment.forget()
    shown = change.slow or answer.printed
    id_, runs = secrets.token_hex(8), request.app.state.runs
    runs[id_] = answer
    if len(runs) > _KEPT:
        del runs[next(iter(runs))]
    # That page may be loaded again.
    return RedirectResponse(f"/runs/{id_}" if shown else answer.back, 303)


def _follow(request: Request, answer: Answer, change: Change, words: Sequence[str]) -> None:
    """Run a command to its end; errors are a part of what is shown."""
    try:
        with reading if change.words[0] == "dlq" else nullcontext():
            answer.run(change.command, words)
    except ERRORS as error:
        answer.fail(str(error))
    except BaseException:
        answer.fail("it ended unexpectedly")
        raise
    finally:
        request.app.state.readings.clear()
        answer.runs = False


def show_run(request: Request) -> Response:
    answer = _find_run(request)
    return page(
        request,
        answer.command,
        back=("Again" if answer.back == "/doctor" else "Back", answer.back),
        live=f"/live{request.url.path}" if answer.runs else "",
        sections=[answer],
    )


async def live_run(request: Request) -> Response:
    answer = _find_run(request)
    return stream(lambda: answer, _LIVE_SECONDS)


def _find_run(request: Request) -> Answer:
    runs: dict[str, Answer] = request.app.state.runs
    if answer := runs.get(request.path_params["id"]):
        return answer
    raise HTTPException(404, "This is not known any more.")


def words(change: Change, values: Mapping[str, str], *, shown: bool = False) -> list[str]:
    return words_of(change.fields((*change.names, *change.others)), values, shown=shown)


def form_page(
    request: Request,
    change: Change,
    values: Mapping[str, str],
    errors: Mapping[str, str] = MappingProxyType({}),
) -> Response:
    deployment = context_of(request).deployed
    live = ""
    sections = _hanging(request, change, values)
    if change.words[0] == "dlq" and not errors:
        sections = [replace(begin(request, values, list_groups), last=())]
        live = f"/live/dead-letters?{urlencode(asked(values))}"
    return page(
        request,
        change.text[0],
        template="form.html",
        live=live,
        status=400 if errors else 200,
        command=command_line(request, *change.words, *words(change, values, shown=True)),
        back=("Back", change.next(values)),
        change=change,
        name=next(name for name, each in _CHANGES.items() if each is change),
        values={name: text for name, text in values.items() if name != SECRET},
        errors=errors,
        sections=sections,
        known={
            "bucket": sorted(deployment.buckets),
            "arn": [each.name for each in deployment.targets],
        },
    )


def _hanging(request: Request, change: Change, values: Mapping[str, str]) -> list[Answer]:
    """Return the rules that name the target or topic of a form that removes it."""
    context, name = context_of(request), values.get("arn") or values.get("name", "")
    if change.command not in (dynamic.rm, topic.rm):
        return []
    try:
        to = params.target_or_topic(name)
    except click.BadParameter:
        return []
    with aws_errors():
        rules = Rules(context.deployed.state_table, context.aws.dynamodb)
        naming = hanging.rules_naming(to, rules)
    said = [f"{name}{hanging.named_by(naming)}:", *hanging.lines(naming)]
    return [Answer(context=context, printed=said)] if naming else []


def _change(request: Request) -> Change:
    try:
        return _CHANGES[request.path_params["name"]]
    except KeyError:
        raise HTTPException(404, "There is no such form.") from None
