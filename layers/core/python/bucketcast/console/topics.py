"""Topics, and dynamic targets: both are made without a deploy."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from bucketcast import targets
from bucketcast.console.answers import new_answer, printed, run, see_printed
from bucketcast.console.context import context_of
from bucketcast.console.forms import ERRORS, Field, errors_of, setting_field
from bucketcast.console.pages import command, fields, page
from bucketcast.dynamic_targets import command as target
from bucketcast.settings.options import options_of
from bucketcast.topics import command as topic

_ID = Field("id", "id", "Its name after the kind, as in webhook:audit.", "audit", required=True)


def show(request: Request) -> Response:
    context = context_of(request)
    deployment = context.deployed
    listed = run(new_answer(context), topic.command, "topic", "ls")
    return page(
        request,
        "topics.html",
        command=command(request, "topic", "ls"),
        columns=listed.columns,
        topics=listed.rows,
        targets=[
            each
            for each in (*deployment.targets, *deployment.inactive)
            if each.dynamic and not each.dynamic.topic
        ],
        kinds=sorted(deployment.dynamic.functions) if deployment.dynamic else (),
        notes=printed(request),
    )


def show_topic(request: Request) -> Response:
    context, name = context_of(request), request.path_params["name"]
    shown = run(new_answer(context), topic.command, "topic", "get", name).document
    stats: Mapping[str, Any] = {}
    if shown["dest"]["persistent"]:
        stats = run(new_answer(context), topic.command, "topic", "stats", name).document
    return page(
        request,
        "topic.html",
        command=command(request, "topic", "get", name),
        topic=shown,
        settings={**shown, **shown["dest"]},
        stats={key: number for key, number in stats.items() if key != "Topic Stats"},
    )


def ask_remove_topic(request: Request) -> Response:
    name = request.path_params["name"]
    shown = run(new_answer(context_of(request)), topic.command, "topic", "get", name).document
    return page(
        request,
        "question.html",
        title="Remove a topic",
        question="Delete this topic, its queue and all events that wait in it? Notifications that "
        "name it stay; their events are dropped until it is created again.",
        detail=shown["arn"],
        action=request.url.path,
        hidden={},
        choices=(),
        back="/topics",
        command=command(request, "topic", "rm", name),
    )


def remove_topic(request: Request) -> Response:
    context, name = context_of(request), request.path_params["name"]
    removed = run(new_answer(context), topic.command, "topic", "rm", name, "--yes")
    context.forget()
    return see_printed(request, "/topics", removed)


def ask_add_target(request: Request) -> Response:
    return _form(request, request.query_params)


def add_target(request: Request) -> Response:
    context, given = context_of(request), fields(request)
    kind, id_ = given.get("kind", ""), given.get("id", "")
    settings = [
        f"{key}={given[key]}" for key in options_of(_settings(request, kind)) if given.get(key)
    ]
    try:
        added = run(
            new_answer(context), target.command, "target", "add", f"{kind}:{id_}", *settings
        )
    except ERRORS as error:
        return _form(request, given, errors_of(error))
    context.forget()
    return see_printed(request, "/topics", added)


def ask_remove_target(request: Request) -> Response:
    name = request.path_params["name"]
    return page(
        request,
        "question.html",
        title="Remove a target",
        question="Remove this target? Its queued events are kept as long as SQS keeps them, and "
        "sent if it is created again. Rules that name it stay; new events for it are dropped.",
        detail=name,
        action=request.url.path,
        hidden={},
        choices=[("discard", "Also discard its queued events")],
        back="/topics",
        command=command(request, "target", "rm", name),
    )


def remove_target(request: Request) -> Response:
    context, name = context_of(request), request.path_params["name"]
    discard = ["--discard", "--yes"] if "discard" in fields(request) else []
    removed = run(new_answer(context), target.command, "target", "rm", name, *discard)
    context.forget()
    return see_printed(request, "/topics", removed)


def _settings(request: Request, kind: str) -> Any:
    """Return the class of the settings of a kind that the stack has a function for."""
    setup = context_of(request).deployed.dynamic
    if setup is None or kind not in setup.functions:
        raise HTTPException(404, f"The stack has no function for dynamic targets of kind {kind}.")
    return targets.load(kind).Settings


def _form(
    request: Request,
    values: Mapping[str, str],
    errors: Mapping[str, str] = MappingProxyType({}),
) -> Response:
    kind = values.get("kind", "")
    options = options_of(_settings(request, kind)).values()
    all_fields = [setting_field(option) for option in options]
    asked = {option.key for option in options if option.required or option.suggested}
    known = {"", *(field.name for field in all_fields)}
    return page(
        request,
        "dynamic_target.html",
        status=400 if errors else 200,
        command=command(request, "target", "add", f"{kind}:ID", "KEY=VALUE"),
        kind=kind,
        first=[_ID, *(field for field in all_fields if field.name in asked)],
        others=[field for field in all_fields if field.name not in asked],
        values=values,
        errors={name if name in known else "id": text for name, text in errors.items()},
    )
