"""One target: its state, its charts, its settings, and what can be done with it."""

import time
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from bucketcast import deployment as deployed
from bucketcast.aws.clients import AwsError
from bucketcast.console.answers import Answer
from bucketcast.console.charts import PERIODS, charts
from bucketcast.console.context import context_of
from bucketcast.console.flow import watch_of
from bucketcast.console.pages import Link, command_line, page
from bucketcast.deployment.status import read_statuses
from bucketcast.dynamic_targets.command.rows import ALL_COLUMNS, cells
from bucketcast.dynamic_targets.command.show import shown_settings
from bucketcast.terminal import params
from bucketcast.terminal.remarks import remarks


def show(request: Request) -> Response:
    context, watch = context_of(request), watch_of(request)
    target = context.deployed.target(params.target_or_topic(request.path_params["name"]))
    probes, table = [watch.probe(target)], context.deployed.state_table
    (status,), _ = read_statuses([target], probes, table, context.aws)
    now = round(time.time() * 1_000)
    figures = list(zip(ALL_COLUMNS, cells(status, now), strict=True))
    settings = Answer(context=context, heading="Settings")
    rows = [("ARN", target.arn), *shown_settings(target, context.aws).items()]
    settings.table({}, ("SETTING", "VALUE"), rows, "none")
    change = "resume" if status.condition.state == "paused" else "pause"
    actions = [(change.capitalize(), "target", change), ("Send a test event", "test")]
    asked = request.query_params.get("period", "")
    period = asked if asked in PERIODS else "hour"
    try:
        plots = charts(target, context.stack, period, context.aws, watch.history)
    except AwsError as error:  # who may see the target need not see metrics
        plots, settings.problem = [], str(error)
    return page(
        request,
        target.name,
        state=status.condition.state,
        lead=remarks(status, now),
        back=("Flow", "/"),
        command=command_line(request, "target", "show", target.name),
        figures=figures[2:-2],
        buttons=[
            (words[-1], title, {"arn": target.name}, command_line(request, *words, target.name))
            for title, *words in actions
        ],
        links=_links(target),
        plots=plots,
        periods=[(each, f"?period={each}", each == period) for each in PERIODS],
        step=PERIODS[period][2],
        sections=[settings],
    )


def _links(target: deployed.DeployedTarget) -> list[Link]:
    """Return what else there is of a target, and changes of one that no deploy made."""
    query, arn = urlencode({"target": target.name}), urlencode({"arn": target.name})
    links = [
        ("Its events", f"/events?{query}"),
        ("Its rules", f"/rules?{query}"),
        ("Its dead letters", f"/dead-letters?{query}"),
    ]
    if target.dynamic and not target.is_topic:
        links += [
            ("Change its settings …", f"/changes/set-target?{arn}"),
            ("Remove …", f"/changes/remove-target?{arn}"),
        ]
    return links
