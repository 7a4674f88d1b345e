"""Forms that change something: each is a command, and asks before it removes anything."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import click
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from bucketcast.console.answers import run, see_printed
from bucketcast.console.context import context_of
from bucketcast.console.forms import ERRORS, SECRET, errors_of, words_of
from bucketcast.console.pages import command, fields, page
from bucketcast.dynamic_targets import command as target
from bucketcast.notifications.command import event
from bucketcast.topics import command as topic


class Change(NamedTuple):
    """A command as a form, with its first fields, and perhaps the `others`."""

    command: click.Command
    words: tuple[str, ...]
    back: str
    names: tuple[str, ...]
    others: tuple[str, ...] = ()
    trial: tuple[click.Option, ...] = ()

    @property
    def text(self) -> list[str]:
        """The paragraphs of its help, without examples; the first one says what it does."""
        first, *others = (self.command.help or "").partition("\b")[0].strip().split("\n\n")
        return [re.split("[.:;]", first)[0], *others]

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
_CHANGES: Final = {
    "add-rule": ADD_RULE,
    "remove-rule": Change(event.rm, ("event", "rm"), "/rules", ("bucket", "ids")),
    "add-target": Change(target.add, ("target", "add"), "/topics", ("arn", "settings", "merge")),
    "remove-target": Change(target.rm, ("target", "rm", "--yes"), "/topics", ("arn", "discard")),
    "remove-topic": Change(topic.rm, ("topic", "rm", "--yes"), "/topics", ("name",)),
}


def ask(request: Request) -> Response:
    return form_page(request, _change(request), request.query_params)


def do(request: Request) -> Response:
    change, values = _change(request), fields(request)
    try:
        done = run(request, *change.words, *words(change, values))
    except ERRORS as error:
        return form_page(request, change, values, errors_of(error))
    context_of(request).forget()
    return see_printed(request, change.back, done)


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
    shown = [word for word in change.words if word != "--yes"]
    return page(
        request,
        "form.html",
        status=400 if errors else 200,
        command=command(request, *shown, *words(change, values, shown=True)),
        change=change,
        name=next(name for name, each in _CHANGES.items() if each is change),
        values={name: text for name, text in values.items() if name != SECRET},
        errors=errors,
        tried=tried,
        known={
            "bucket": sorted(deployment.buckets),
            "arn": [each.name for each in deployment.targets],
        },
    )


def _change(request: Request) -> Change:
    try:
        return _CHANGES[request.path_params["name"]]
    except KeyError:
        raise HTTPException(404, "There is no such form.") from None
