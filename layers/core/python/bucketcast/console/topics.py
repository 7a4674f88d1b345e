"""Topics, and dynamic targets: both are made without a deploy."""

from starlette.requests import Request
from starlette.responses import Response

from bucketcast.console.answers import run
from bucketcast.console.context import context_of
from bucketcast.console.forms import words_of
from bucketcast.console.pages import command, page
from bucketcast.topics import command as topic


def show(request: Request) -> Response:
    deployment = context_of(request).deployed
    listed = run(request, "topic", "ls")
    return page(
        request,
        "topics.html",
        command=command(request, "topic", "ls"),
        columns=listed.columns,
        topics=listed.rows,
        targets=[
            (each.name, each.state)
            for each in (*deployment.targets, *deployment.inactive)
            if each.dynamic and not each.dynamic.topic
        ],
    )


def show_topic(request: Request) -> Response:
    name = words_of(topic.get.params, request.path_params)
    answer = run(request, "topic", "get", *name)
    if answer.document["dest"]["persistent"]:
        answer.lines += run(request, "topic", "stats", *name).lines
    return page(
        request,
        "topic.html",
        command=command(request, "topic", "get", *name),
        answer=answer,
    )
