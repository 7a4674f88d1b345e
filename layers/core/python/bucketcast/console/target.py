"""One target: its settings without secrets, its state, and a test event."""

import time
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from bucketcast import deployment as deployed
from bucketcast.console.context import context_of
from bucketcast.console.flow import watch_of
from bucketcast.console.pages import command, page
from bucketcast.deployment import DeployedTarget
from bucketcast.deployment.health import health
from bucketcast.display import redacted_url
from bucketcast.dynamic_targets.command.rows import WIDE_COLUMNS, cells, read_rows, remarks, state
from bucketcast.terminal import params

_PAUSE: Final = ("Pause", "target", "pause")
_RESUME: Final = ("Resume", "target", "resume")
_TEST: Final = ("Send a test event", "test")


def show(request: Request) -> Response:
    context = context_of(request)
    target = context.deployed.target(params.target_or_topic(request.path_params["name"]))
    reports = health([target], context.aws, [watch_of(request).probe(target)])
    (row,), _ = read_rows([target], reports, context.deployed.state_table, context.aws)
    now = round(time.time() * 1_000)
    figures = list(zip(WIDE_COLUMNS, cells(row, now), strict=True))
    return page(
        request,
        "target.html",
        command=command(request, "target", "ls", "--wide"),
        name=target.name,
        state=state(row),
        remarks=remarks(row, now),
        figures=figures[2:-2],
        settings=[*figures[-2:], *_settings(request, target)],
        actions=[
            (words[-1], title, command(request, *words, target.name))
            for title, *words in (_RESUME if state(row) == "paused" else _PAUSE, _TEST)
        ],
    )


def _settings(request: Request, target: DeployedTarget) -> list[tuple[str, str]]:
    settings = deployed.settings(target, context_of(request).aws)
    return [
        (name, redacted_url(value) if "://" in value else value)
        for name, value in sorted(settings.items())
        if value
    ]
