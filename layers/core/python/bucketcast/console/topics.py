"""Topics, and dynamic targets: both are made without a deploy."""

from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from bucketcast.console.answers import Answer, run
from bucketcast.console.context import context_of
from bucketcast.console.forms import words_of
from bucketcast.console.pages import page
from bucketcast.topics import command as topic


def show(request: Request) -> Response:
    deployment = context_of(request).deployed
    listed = run(request, topic.ls, "topic ls", heading="Topics")
    listed.note("Users create topics through the gateway, with CreateTopic.")
    targets = Answer(context=context_of(request), heading="Dynamic targets")
    rows = [
        (each.name, each.state)
        for each in deployment.all_targets
        if each.dynamic and not each.dynamic.topic
    ]
    targets.table({}, ("TARGET", "STATE"), rows, "no dynamic targets")
    return page(
        request,
        "Topics and dynamic targets",
        links=[
            ("Add a dynamic target …", "/changes/add-target"),
            ("Remove one …", "/changes/remove-target"),
        ],
        sections=[listed, targets],
    )


def show_topic(request: Request) -> Response:
    words = words_of(topic.get.params, request.path_params)
    sections = [run(request, topic.get, "topic get", *words)]
    found = sections[0].document
    if found["dest"]["persistent"]:
        sections.append(run(request, topic.stats, "topic stats", *words))
    return page(
        request,
        found["name"],
        back=("Topics", "/topics"),
        links=[
            ("Its dead letters", f"/dead-letters?{urlencode({'target': found['arn']})}"),
            ("Remove …", f"/changes/remove-topic?{urlencode({'name': found['arn']})}"),
        ],
        sections=sections,
    )
