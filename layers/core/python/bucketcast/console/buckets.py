"""Buckets: how they are connected, what is wrong, and what scans found in them."""

import time
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock, Thread
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from bucketcast.console.answers import Answer, new_answer, run
from bucketcast.console.context import context_of
from bucketcast.console.pages import command, page, render, see
from bucketcast.diagnose.command import doctor
from bucketcast.display import size
from bucketcast.errors import BucketcastError
from bucketcast.notifications.command import bucket as connections
from bucketcast.pipeline.aws import Runs
from bucketcast.pipeline.command import scan
from bucketcast.terminal import params

_SECONDS: Final = 0.5
_MOST: Final = 100
"""Points of a plot, and rows of the list of scans."""
_REPORT_POLICY: Final = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
"""A report styles itself, and has an origin of its own: it reaches nothing of the console."""


@dataclass
class Check:
    """The latest run of `doctor`; `ended` is Unix ms, 0 while it runs or before the first."""

    answer: Answer | None = None
    ended: int = 0
    error: str = ""
    lock: Lock = field(default_factory=Lock)

    @property
    def running(self) -> bool:
        return self.answer is not None and not self.ended

    def run(self, answer: Answer) -> None:
        """Start `doctor`, unless it runs."""
        with self.lock:
            if self.running:
                return
            self.answer, self.ended, self.error = answer, 0, ""
        Thread(target=self._run, args=(answer,), daemon=True).start()

    def _run(self, answer: Answer) -> None:
        try:
            run(answer, doctor.command, "doctor")
        except BucketcastError as error:
            self.error = str(error)
        finally:
            self.error = self.error or ("" if answer.document else "it ended unexpectedly")
            self.ended = round(time.time() * 1_000)


def show(request: Request) -> Response:
    listed = run(new_answer(context_of(request)), connections.command, "bucket", "ls")
    return page(
        request,
        "buckets.html",
        live="/live/buckets" if _check(request).running else "",
        command=command(request, "bucket", "ls"),
        columns=listed.columns,
        buckets=listed.rows,
        nothing="; ".join(listed.printed),
        check=_check(request),
        same=command(request, "doctor"),
    )


def check(request: Request) -> Response:
    _check(request).run(new_answer(context_of(request)))
    return see("/buckets")


async def live(request: Request) -> Response:
    latest = _check(request)
    return context_of(request).feeds.stream(
        request.url.path, lambda: render("doctor_parts.html", check=latest), _SECONDS
    )


def show_bucket(request: Request) -> Response:
    context = context_of(request)
    name = params.bucket_name(request.path_params["name"])
    listed = run(new_answer(context), connections.command, "bucket", "ls", name)
    words, scans, problem = ["scan", name, "--list"], [], ""
    try:
        scans = run(new_answer(context), scan.command, *words).document["scans"]
    except BucketcastError as error:
        problem = str(error)
    return page(
        request,
        "bucket.html",
        command=command(request, *words),
        name=name,
        row=dict(zip(listed.columns, listed.rows[0], strict=True)),
        problem=problem,
        scans=[
            {
                **each,
                "at": _ms(each["taken"]),
                "total": scan.usage_total(each),
                "count": scan.findings_count(each),
            }
            for each in scans[::-1][:_MOST]
        ],
        plots=_plots(scans),
        bars=_bars(scans[-1]["usage"]) if scans else {},
    )


def show_report(request: Request) -> Response:
    context, run_id = context_of(request), request.path_params["run"]
    content = Runs(context.deployed, context.aws).download("scan", run_id, "report/index.html")
    if content is None:
        raise HTTPException(404, f"The report of {run_id} is not there any more.")
    headers = {"Content-Security-Policy": _REPORT_POLICY}
    return Response(content, headers=headers, media_type="text/html; charset=utf-8")


def _check(request: Request) -> Check:
    latest: Check = request.app.state.check
    return latest


def _plots(scans: list[dict[str, Any]]) -> dict[str, list[tuple[int, int, str]]]:
    """Return time, number and text of the scans that are of the same as the last one."""
    like = [
        each for each in scans if all(each[key] == scans[-1][key] for key in ("prefix", "versions"))
    ][-_MOST:]
    plots: dict[str, list[tuple[int, int, str]]] = {}
    for each in like:
        total, at = scan.usage_total(each), _ms(each["taken"])
        findings = scan.findings_count(each)
        plots.setdefault("Objects", []).append((at, total["objects"], f"{total['objects']:,}"))
        if total["bytes"] is not None:
            plots.setdefault("Bytes", []).append((at, total["bytes"], size(total["bytes"])))
        plots.setdefault("Findings", []).append((at, findings, f"{findings:,}"))
    return plots


def _bars(usage: list[dict[str, Any]]) -> dict[str, list[tuple[str, int, int, str]]]:
    """Return name, current and older bytes, and text of each part of a dimension.

    Without bytes, they are numbers of versions.
    """
    bars: dict[str, list[tuple[str, int, int, str]]] = {}
    for part in usage:
        if part["dimension"] in ("total", "uploads"):
            continue
        if part["bytes"] is None:
            current, older = part["objects"], part["noncurrent"] or 0
            text = f"{current + older:,}"
        else:
            older = part["noncurrent_bytes"] or 0
            current, text = part["bytes"] - older, size(part["bytes"])
        title = part["dimension"].replace("_", " ")
        bars.setdefault(title, []).append((part["name"], current, older, text))
    return bars


def _ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1_000)
