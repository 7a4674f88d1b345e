"""Buckets: how they are connected, what is wrong, and what scans found in them."""

from datetime import datetime
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from bucketcast.console.answers import Answer, run
from bucketcast.console.context import context_of
from bucketcast.console.pages import command, page
from bucketcast.display import size
from bucketcast.pipeline.aws import Runs
from bucketcast.pipeline.command import scan
from bucketcast.terminal import params

_NO_JOBS: Final = "the stack has no jobs: add a table [pipeline] to bucketcast.toml, then deploy"
_REPORT_POLICY: Final = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
"""A report styles itself, and has an origin of its own: it reaches nothing of the console."""


def show(request: Request) -> Response:
    listed = run(request, "bucket", "ls")
    return page(
        request,
        "buckets.html",
        command=command(request, "bucket", "ls"),
        columns=listed.columns,
        rows=listed.rows,
        notes=listed.printed,
    )


def show_bucket(request: Request) -> Response:
    name = params.bucket_name(request.path_params["name"])
    listed = run(request, "bucket", "ls", name)
    past = Answer(printed=[_NO_JOBS])
    if context_of(request).deployed.pipeline:
        past = run(request, "scan", name, "--list")
    scans = past.document.get("scans", [])
    return page(
        request,
        "bucket.html",
        command=command(request, "scan", name, "--list"),
        name=name,
        figures=list(zip(listed.columns, listed.rows[0], strict=True))[1:],
        notes=past.printed,
        plots=_plots(scans),
        finding_columns=scan.COLUMNS,
        findings=[scan.row(finding) for finding in scans[-1]["findings"]] if scans else (),
        columns=past.columns[:-1],
        rows=[cells[:-1] for cells in past.rows[::-1]],
        last=[[("report", f"/scans/{each['run']}")] for each in scans[::-1]],
    )


def show_report(request: Request) -> Response:
    context, run_id = context_of(request), request.path_params["run"]
    content = Runs(context.deployed, context.aws).download("scan", run_id, "report/index.html")
    if content is None:
        raise HTTPException(404, f"The report of {run_id} is not there any more.")
    headers = {"Content-Security-Policy": _REPORT_POLICY}
    return Response(content, headers=headers, media_type="text/html; charset=utf-8")


def _plots(scans: list[dict[str, Any]]) -> dict[str, list[tuple[int, int, str]]]:
    """Return time, number and text of the scans that are of the same as the last one."""
    plots: dict[str, list[tuple[int, int, str]]] = {"Objects": [], "Bytes": [], "Findings": []}
    for each in scans:
        if all(each[key] == scans[-1][key] for key in ("prefix", "versions")):
            at = round(datetime.fromisoformat(each["taken"]).timestamp() * 1_000)
            total, findings = scan.usage_total(each), scan.findings_count(each)
            plots["Objects"].append((at, total["objects"], f"{total['objects']:,}"))
            plots["Findings"].append((at, findings, f"{findings:,}"))
            if total["bytes"] is not None:
                plots["Bytes"].append((at, total["bytes"], size(total["bytes"])))
    return {title: points for title, points in plots.items() if points}
