"""One target: its settings without secrets, its state, and a test event."""

import time
from dataclasses import dataclass
from threading import Thread
from typing import Any, Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from bucketcast import deployment as deployed
from bucketcast.console.context import Latest, context_of
from bucketcast.console.pages import command, page, render, see
from bucketcast.deployment import DeployedTarget, pauses
from bucketcast.deployment.health import health
from bucketcast.diagnose.command import test as trials
from bucketcast.diagnose.trial import Trial, summary
from bucketcast.display import redacted_url
from bucketcast.dynamic_targets.command.rows import document, read_rows, remarks, state
from bucketcast.errors import BucketcastError
from bucketcast.terminal import params

_TEST_SECONDS: Final = 30.0
_LIVE_SECONDS: Final = 0.5
_PAUSE: Final = ("pause", "Pause", "target", "pause")
_RESUME: Final = ("resume", "Resume", "target", "resume")
_TEST: Final = ("tests", "Send a test event", "test")


@dataclass
class Test:
    """A test event on its way to a target; `ended` if nothing more will be known."""

    trial: Trial
    ended: bool = False
    error: str = ""


def show(request: Request) -> Response:
    target = _target(request)
    context = context_of(request)
    reports = health([target], context.aws)
    (row,), _ = read_rows([target], reports, context.deployed.state_table, context.aws)
    now = round(time.time() * 1_000)
    return page(
        request,
        "target.html",
        command=command(request, "target", "ls", "--wide"),
        target=document(row),
        name=target.name,
        state=state(row),
        remarks=remarks(row, now),
        row=row,
        settings=_settings(request, target),
        actions=[
            (path, title, command(request, *words, target.name))
            for path, title, *words in (_RESUME if state(row) == "paused" else _PAUSE, _TEST)
        ],
    )


def pause(request: Request) -> Response:
    context, target = context_of(request), _target(request)
    change = pauses.pause(target, context.deployed, context.aws)
    if change.unconfirmed:
        raise BucketcastError(
            f"{target.name} is paused, but its function did not confirm it: {change.unconfirmed}"
        )
    return see(_address(target))


def resume(request: Request) -> Response:
    context, target = context_of(request), _target(request)
    pauses.resume(target, context.deployed, context.aws)
    return see(_address(target))


def test(request: Request) -> Response:
    """Send a test event; its page shows how it fares."""
    context, target = context_of(request), _target(request)
    deployment, aws = context.deployed, context.aws
    running = Test(trials.start(target, deployment, aws))

    def follow() -> None:
        try:
            trials.follow(running.trial, target, deployment, aws, _TEST_SECONDS, lambda _: None)
        except BucketcastError as error:
            running.error = str(error)
        running.error = running.error or running.trial.failure(target.function)
        running.ended = True

    Thread(target=follow, daemon=True).start()
    tests: Latest[Test] = request.app.state.tests
    return see(f"{_address(target)}/tests/{tests.add(running)}")


def show_test(request: Request) -> Response:
    target = _target(request)
    return page(
        request,
        "test.html",
        live="" if _test(request).ended else f"/live{request.url.path}",
        command=command(request, "test", target.name),
        name=target.name,
        **_steps(_test(request)),
    )


async def live_test(request: Request) -> Response:
    running = _test(request)
    return context_of(request).feeds.stream(
        request.url.path, lambda: render("test_parts.html", **_steps(running)), _LIVE_SECONDS
    )


def _steps(running: Test) -> dict[str, Any]:
    return {
        "rows": list(trials.rows(running.trial)),
        "ended": running.ended,
        "error": running.error,
        "figures": summary(running.trial),
    }


def _test(request: Request) -> Test:
    tests: Latest[Test] = request.app.state.tests
    return tests.find(request.path_params["id"])


def _target(request: Request) -> DeployedTarget:
    return context_of(request).deployed.target(params.target_or_topic(request.path_params["name"]))


def _address(target: DeployedTarget) -> str:
    return f"/targets/{quote(target.name, safe=':')}"


def _settings(request: Request, target: DeployedTarget) -> list[tuple[str, str]]:
    settings = deployed.settings(target, context_of(request).aws)
    return [
        (name, redacted_url(value) if "://" in value else value)
        for name, value in sorted(settings.items())
        if value
    ]
