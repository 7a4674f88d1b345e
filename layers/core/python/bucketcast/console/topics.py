"""Topics, and dynamic targets: both are made without a deploy."""

from starlette.requests import Request
from starlette.responses import Response

from bucketcast.console.answers import run
from bucketcast.console.context import context_of
from bucketcast.console.pages import command, page


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
    name = request.path_params["name"]
    topic = dict(run(request, "topic", "get", name).document)
    attributes = topic | topic.pop("dest")
    if attributes["persistent"]:
        attributes |= run(request, "topic", "stats", name).document
    return page(
        request,
        "topic.html",
        command=command(request, "topic", "get", name),
        topic=topic,
        rows=[(key, str(value)) for key, value in attributes.items()],
    )
