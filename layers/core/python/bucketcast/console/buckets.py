"""Buckets: how they are connected, what is wrong, and what scans found in them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from bucketcast.console.answers import Answer, run
from bucketcast.console.context import context_of
from bucketcast.console.pages import command_line, page
from bucketcast.display import size
from bucketcast.errors import BucketcastError
from bucketcast.notifications.command.bucket_ls import ls
from bucketcast.pipeline.aws import Runs
from bucketcast.pipeline.command import scan
from bucketcast.terminal import params

_PAST: Final = "Scans of the last 30 days"
_REPORT_POLICY: Final = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
"""A report styles itself, and has an origin of its own: it reaches nothing of the console."""


def show(request: Request) -> Response:
    listed = run(request, ls, "bucket ls")
    return page(
        request,
        "Buckets",
        sections=[listed],
    )


def show_bucket(request: Request) -> Response:
    name = params.bucket_name(request.path_params["name"])
    listed = run(request, ls, "bucket ls", name)
    sections = _scans(request, name)
    return page(
        request,
        name,
        back=("Buckets", "/buckets"),
        figures=list(zip(listed.columns, listed.rows[0], strict=True))[1:],
        links=[
            ("Its rules", f"/rules?bucket={name}"),
            ("Add a rule …", f"/changes/add-rule?bucket={name}"),
            ("Its events", f"/events?bucket={name}"),
        ],
        command=command_line(request, "scan", name, "--list"),
        plots=_plots(sections[0].document.get("scans", ())),
        sections=sections,
    )


def _scans(request: Request, name: str) -> list[Answer]:
    """Return the list of a bucket's scans, the last one first, and the findings of that one."""
    context = context_of(request)
    try:
        past = run(request, scan.command, "scan", name, "--list", heading=_PAST)
    except BucketcastError as error:  # a stack need not have jobs
        return [Answer(context=context, printed=[str(error)])]
    scans = past.document["scans"]
    if not scans:
        return [past]
    past.columns, past.rows = past.columns[:-1], [cells[:-1] for cells in past.rows[::-1]]
    past.last = [[("report", f"/scans/{each['run']}")] for each in scans[::-1]]
    findings = Answer(context=context, heading="Findings of the last scan")
    rows = [scan.row(finding) for finding in scans[-1]["findings"]]
    findings.table({}, scan.COLUMNS, rows, "none")
    return [past, findings]


def show_report(request: Request) -> Response:
    context, run_id = context_of(request), request.path_params["run"]
    content = Runs(context.deployed, context.aws).download("scan", run_id, "report/index.html")
    if content is None:
        raise HTTPException(404, f"The report of {run_id} is not there any more.")
    headers = {"Content-Security-Policy": _REPORT_POLICY}
    return Response(content, headers=headers, media_type="text/html; charset=utf-8")


def _plots(scans: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[tuple[int, int, str]]]]:
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
    return [(title, points) for title, points in plots.items() if points]
