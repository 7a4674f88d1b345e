"""Buckets, how they are connected, and their rules: which events go to which target."""

from collections.abc import Mapping
from itertools import chain
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from bucketcast.console.answers import SEARCH, run, search
from bucketcast.console.pages import page
from bucketcast.notifications.command import bucket_ls, event
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


def show_buckets(request: Request) -> Response:
    return page(request, "Buckets", sections=[run(request, bucket_ls.ls, "bucket ls")])


def _prefixes(rule: Mapping[str, Any]) -> list[str]:
    """Return the prefixes of a rule's keys, "" for all keys."""
    parts = ("key", "prefix", False)
    several = [
        each["values"]
        for each in rule["conditions"]
        if (each["on"], each["how"], each["unless"]) == parts
    ]
    return [rule["prefix"], *chain(*several)]


def _removal(rule: Mapping[str, str]) -> str:
    chosen = {"bucket": rule["bucket"], "ids": rule["id"]}
    return f"/changes/remove-rule?{urlencode(chosen)}"
