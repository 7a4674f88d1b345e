"""Topics: which there are, how they are, and one."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from bucketcast.console.answers import SEARCH, run, search
from bucketcast.console.flow import watch_of
from bucketcast.console.forms import words_of
from bucketcast.console.pages import page
from bucketcast.topics import command as topic


def show(request: Request) -> Response:
    """List topics with the states of their targets: those that are not persistent have none."""
    overview = watch_of(request).overview
    overview.begin()
    listed = run(request, topic.ls, "topic ls")
    topics = listed.document["topics"]
    states = {card["name"]: card["shown"] for card in overview.get()["targets"]}
    listed.columns = (*listed.columns, "STATE")
    listed.rows = [
        (*cells, states.get(each["arn"], "pushed once" if _has_endpoint(each) else "no endpoint"))
        for cells, each in zip(listed.rows, topics, strict=True)
    ]
    listed.note("Users create topics through the gateway, with CreateTopic.")
    return page(
        request,
        "Topics",
        filters=[(name, ()) for name in SEARCH],
        sections=[search(request, listed, "topic", [[each["name"]] for each in topics])],
    )


def _has_endpoint(found: Mapping[str, Any]) -> bool:
    """Return True if a topic pushes events somewhere."""
    return bool(found["dest"]["push_endpoint"])


def show_topic(request: Request) -> Response:
    words = words_of(topic.get.params, request.path_params)
    sections = [run(request, topic.get, "topic get", *words)]
    found = sections[0].document
    if found["dest"]["persistent"] and _has_endpoint(found):
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
