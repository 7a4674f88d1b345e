"""Rules: which events of a bucket go to which target, and whether a key would match."""

from collections.abc import Mapping
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from bucketcast.console.answers import run
from bucketcast.console.changes import ADD_RULE, form_page, words
from bucketcast.console.context import context_of
from bucketcast.console.forms import ERRORS, errors_of
from bucketcast.console.pages import command, page
from bucketcast.diagnose.command import explain
from bucketcast.notifications.command import event
from bucketcast.terminal import params


def show(request: Request) -> Response:
    bucket, target = (request.query_params.get(name, "").strip() for name in ("bucket", "target"))
    arn = params.target_or_topic(target).plain if target else ""
    asked = ["event", "ls", *([bucket] if bucket else [])]
    bucket = params.bucket_name(bucket) if bucket else ""
    listed = run(request, *asked)
    return page(
        request,
        "rules.html",
        command=command(request, *asked),
        bucket=bucket,
        target=target,
        columns=listed.columns,
        rows=[
            cells
            for rule, cells in zip(listed.document["rules"], listed.rows, strict=True)
            if arn in ("", rule["arn"])
        ],
        last=[
            [("remove …", _removal(rule))]
            for rule in listed.document["rules"]
            if arn in ("", rule["arn"])
        ],
    )


def try_key(request: Request) -> Response:
    """Show each rule's answer to an event of a key, as if the rule of the form were added."""
    context, values = context_of(request), request.query_params
    try:
        with ADD_RULE.command.make_context("event add", words(ADD_RULE, values)) as parsed:
            given = dict(parsed.params)
        draft = event.draft(context.deployed, given["bucket"], given["arn"], given["events"], given)
    except ERRORS as error:
        return form_page(request, ADD_RULE, values, errors_of(error))
    asked = [f"s3://{draft.bucket}/{values.get('key', '')}", "--event", values.get("try") or "put"]
    try:
        with explain.command.make_context("explain", list(asked)) as parsed:
            events = explain.synthetic(parsed.params["source"], parsed.params)
        explained = explain.explain_deployed(events, context.deployed, context.aws, [draft])
    except ERRORS as error:
        return form_page(request, ADD_RULE, values, {"key": "; ".join(errors_of(error).values())})
    first, *others = explain.rows(explained.answers, explained.missing)
    tried = {
        "command": command(request, "explain", *asked),
        "title": f"{events[0].name} of {asked[0]}",
        "columns": explain.COLUMNS,
        "rows": [("this rule", *first[1:]), *others],
    }
    return form_page(request, ADD_RULE, values, tried=tried)


def _removal(rule: Mapping[str, str]) -> str:
    chosen = {"bucket": rule["bucket"], "ids": rule["id"]}
    return f"/changes/remove-rule?{urlencode(chosen)}"
