"""Rules: which events of a bucket go to which target, and whether a key would match."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlencode

import click
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from bucketcast.console.answers import new_answer, printed, run, see_printed
from bucketcast.console.context import context_of
from bucketcast.console.forms import ERRORS, Field, errors_of, fields_of, words_of
from bucketcast.console.pages import command, fields, page
from bucketcast.destination import Destination
from bucketcast.diagnose.command import explain
from bucketcast.notifications.command import event
from bucketcast.rules import Rule
from bucketcast.terminal import params

_ADD: Final[click.Command] = event.add
_FIRST: Final = ("bucket", "arn", "events", "prefixes", "suffixes")
_TRIED: Final = Field(
    "key", "key", "Would an event of this key match? Nothing is added.", "a/b.jpg"
)
_TRIED_EVENT: Final = Field("try", "event of the key", "put, delete, get, or a name.", "put")


def show(request: Request) -> Response:
    bucket, target = (request.query_params.get(name, "").strip() for name in ("bucket", "target"))
    arn = params.target_or_topic(target).plain if target else ""
    words = ["event", "ls", *([bucket] if bucket else [])]
    listed = run(new_answer(context_of(request)), event.command, *words)
    rules = [
        {**rule, "cells": cells, "short": Destination.of(rule["arn"]).short}
        for rule, cells in zip(listed.document["rules"], listed.rows, strict=True)
        if arn in ("", rule["arn"])
    ]
    return page(
        request,
        "rules.html",
        command=command(request, *words),
        bucket=bucket,
        target=target,
        columns=listed.columns,
        rules=rules,
        known=_known(request),
        notes=printed(request),
    )


def ask_add(request: Request) -> Response:
    """Show the form; with a key, also whether it would match."""
    values = dict(request.query_params)
    if not values.get("key"):
        return _form(request, values)
    try:
        draft = _draft(request, values)
    except ERRORS as error:
        return _form(request, values, errors_of(error))
    try:
        tried = _try(request, draft, values["key"], values.get("try") or "put")
    except click.BadParameter as error:
        return _form(request, values, {"try" if error.param else "key": error.format_message()})
    except ERRORS as error:
        return _form(request, values, errors_of(error))
    return _form(request, values, tried=tried)


def add(request: Request) -> Response:
    values = fields(request)
    try:
        added = run(
            new_answer(context_of(request)), event.command, "event", "add", *words_of(_ADD, values)
        )
    except ERRORS as error:
        return _form(request, values, errors_of(error))
    return see_printed(request, "/rules", added, bucket=added.document["bucket"])


def ask_remove(request: Request) -> Response:
    bucket, id_ = (request.query_params.get(name, "") for name in ("bucket", "id"))
    listed = run(new_answer(context_of(request)), event.command, "event", "ls", bucket)
    found = [
        cells
        for rule, cells in zip(listed.document["rules"], listed.rows, strict=True)
        if rule["id"] == id_
    ]
    if not found:
        raise HTTPException(404, f"{bucket} has no rule {id_} any more.")
    return page(
        request,
        "question.html",
        title="Remove a rule",
        question=f"Remove this rule of {bucket}? Events that are already queued are delivered.",
        detail="\n".join(
            f"{name.lower()}: {cell}" for name, cell in zip(listed.columns, found[0], strict=True)
        ),
        action="/rules/remove",
        hidden={"bucket": bucket, "id": id_},
        choices=(),
        back=f"/rules?{urlencode({'bucket': bucket})}",
        command=command(request, "event", "rm", bucket, "--id", id_),
    )


def remove(request: Request) -> Response:
    form = fields(request)
    bucket = form.get("bucket", "")
    words = ("event", "rm", bucket, "--id", form.get("id", ""))
    removed = run(new_answer(context_of(request)), event.command, *words)
    return see_printed(request, "/rules", removed, bucket=bucket)


def _draft(request: Request, values: Mapping[str, str]) -> Rule:
    with _ADD.make_context("bucketcast event add", words_of(_ADD, values)) as parsed:
        given = dict(parsed.params)
    deployment = context_of(request).deployed
    return event.draft(deployment, given["bucket"], given["arn"], given["events"], given)


def _try(request: Request, draft: Rule, key: str, name: str) -> Mapping[str, Any]:
    """Return each rule's answer to an event of a key, as if the draft were added."""
    context = context_of(request)
    words = [f"s3://{draft.bucket}/{key}", "--event", name]
    with explain.command.make_context("bucketcast explain", list(words)) as parsed:
        events = explain.synthetic(parsed.params["source"], parsed.params)
    explained = explain.explain_deployed(events, context.deployed, context.aws, [draft])
    return {
        "command": command(request, "explain", *words),
        "event": events[0],
        "answers": [
            (answer, answer.rule is draft, explain.matched(answer, explained.missing))
            for answer in explained.answers
        ],
    }


def _form(
    request: Request,
    values: Mapping[str, str],
    errors: Mapping[str, str] = MappingProxyType({}),
    tried: Mapping[str, Any] | None = None,
) -> Response:
    all_fields = fields_of(_ADD, _known(request), without={"ignore_existing"})
    return page(
        request,
        "rule.html",
        status=400 if errors else 200,
        command=command(request, "event", "add", *(words_of(_ADD, values) or ["BUCKET", "TARGET"])),
        first=[field for field in all_fields if field.name in _FIRST],
        others=[field for field in all_fields if field.name not in _FIRST],
        trial=(_TRIED, _TRIED_EVENT),
        values=values,
        errors=errors,
        tried=tried,
    )


def _known(request: Request) -> Mapping[str, list[str]]:
    deployment = context_of(request).deployed
    return {
        "bucket": sorted(deployment.buckets),
        "arn": [
            target.name for target in deployment.targets if not Destination.of(target.arn).of_topic
        ],
    }
