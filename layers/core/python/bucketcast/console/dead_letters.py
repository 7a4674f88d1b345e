"""Dead letters: by group, one by one, and as they would be sent."""

from starlette.requests import Request
from starlette.responses import Response

from bucketcast.console.forms import words_of
from bucketcast.console.pages import command_line, page
from bucketcast.console.readings import actions, asked, begin, list_groups, list_letters
from bucketcast.dlq.command import read


def show(request: Request) -> Response:
    values = asked(request.query_params)
    return page(
        request,
        "Dead letters",
        live=f"/live{request.url.path}?{request.url.query}",
        command=command_line(request, "dlq", "ls", *words_of(read.ls.params, values)),
        filters=[("target", ()), ("reason", ())],
        links=actions(values)[1:],
        sections=[begin(request, values, list_groups)],
    )


def show_letters(request: Request) -> Response:
    values = asked(request.query_params)
    return page(
        request,
        f"Dead letters of {values.get('target')}",
        live=f"/live{request.url.path}?{request.url.query}",
        command=command_line(request, "dlq", "show", *words_of(read.show.params, values)),
        back=("Dead letters", "/dead-letters"),
        links=actions(values)[1:],
        sections=[begin(request, values, list_letters)],
    )
