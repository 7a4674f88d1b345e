"""Rules: which events of a bucket go to which target, and whether a key would match."""

from collections.abc import Mapping
from itertools import chain
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from bucketcast.console.answers import SEARCH, Answer, run, search
from bucketcast.console.changes import ADD_RULE, form_page, words
from bucketcast.console.context import context_of
from bucketcast.console.forms import ERRORS, errors_of
from bucketcast.console.pages import command_line, page
from bucketcast.diagnose.command import explain
from bucketcast.notifications.command import event
from bucketcast.terminal import params


def show(request: Request) -> Response:
    asked, target = (request.query_params.get(name, "").strip() for name in ("bucket", "target"))
    arn = params.target_or_topic(target).plain if target else ""
    listed = run(request, event.ls, "event ls", *([params.bucket_name(asked)] if asked else []))
    rules = listed.document["rules"]
    listed.last = [[("remove …", _removal(rule))] for rule in rules]
    prefixes = [_prefixes(rule) if arn in ("", rule["arn"]) else () for rule in rules]
    return page(
        request,
        "Rules",
        filters=[(name, ()) for name in ("bucket", "target", *SEARCH)],
        links=[
            ("Add a rule …", f"/changes/add-rule?{urlencode({'bucket': asked, 'arn': target})}")
        ],
        sections=[search(request, listed, "rule", prefixes)],
    )


def _prefixes(rule: Mapping[str, Any]) -> list[str]:
    """Return the prefixes of a rule's keys, "" for all keys."""
    parts = ("key", "prefix", False)
    several = [
        each["values"]
        for each in rule["conditions"]
        if (each["on"], each["how"], each["unless"]) == parts
    ]
    return [rule["prefix"], *chain(*several)]


def try_key(request: Request) -> Response:
    """Show each rule's answer to an event of a key, as if the rule of the form were added."""
    context, values = context_of(request), request.query_params
    try:
        with ADD_RULE.command.make_context("event add", words(ADD_RULE, values)) as parsed:
            given = dict(parsed.params)
        named = given | {"name": "this rule"}
        draft = event.draft(context.deployed, given["bucket"], given["arn"], given["events"], named)
    except ERRORS as error:
        return form_page(request, ADD_RULE, values, errors_of(error))
    asked = [f"s3://{draft.bucket}/{values.get('key', '')}", "--event", values.get("try") or "put"]
    try:
        with explain.command.make_context("explain", list(asked)) as parsed:
            events = explain.synthetic(parsed.params["source"], parsed.params)
        explained = explain.explain_deployed(events, context.deployed, context.aws, [draft])
    except ERRORS as error:
        return form_page(request, ADD_RULE, values, {"key": "; ".join(errors_of(error).values())})
    tried = Answer(context=context, heading=f"{events[0].name} of {asked[0]}")
    tried.note(f"Once it is added: {command_line(request, 'explain', *asked)}")
    explain.show(tried, events[0], explained)
    return form_page(request, ADD_RULE, values, sections=[tried])


def _removal(rule: Mapping[str, str]) -> str:
    chosen = {"bucket": rule["bucket"], "ids": rule["id"]}
    return f"/changes/remove-rule?{urlencode(chosen)}"
