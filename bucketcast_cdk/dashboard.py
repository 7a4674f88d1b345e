"""The dashboard of a stack: the alarms first, then the worst targets."""

from collections.abc import Iterator, Sequence
from typing import Final

from aws_cdk import ArnFormat, Aws, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from bucketcast_cdk import widgets
from bucketcast_cdk.alarms import MonitoredQueue
from bucketcast_cdk.outputs import output
from bucketcast_cdk.widgets import Row

_ALARMS: Final = 100
"""Alarms in one widget, at most."""
_HEADING: Final = (
    "# {}\n`docs/operations.md` says what each alarm means and what to do. Graphs by target show "
    "the ten worst."
)


class Dashboard(Construct):
    """The dashboard `<stack>-<region>`: all regions of an account share names of dashboards."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        queues: Sequence[MonitoredQueue],
        alarms: Sequence[str],
        local: bool,
    ) -> None:
        super().__init__(scope, construct_id)
        stack = Stack.of(self)
        name = f"{stack.stack_name}-{Aws.REGION}"
        dashboard = cloudwatch.Dashboard(self, "Dashboard", dashboard_name=name)
        heading = _HEADING.format(stack.stack_name)
        dashboard.add_widgets(cloudwatch.TextWidget(markdown=heading, width=widgets.FULL, height=2))
        for row in (
            *self._alarms(alarms),
            *widgets.event_rows(stack.stack_name),
            *widgets.queue_rows(queues),
            *widgets.function_rows(scope),
        ):
            dashboard.add_widgets(*row)
        if not local:
            console = f"https://{Aws.REGION}.console.aws.amazon.com/cloudwatch/home"
            link = f"{console}?region={Aws.REGION}#dashboards/dashboard/{name}"
            output(scope, "DashboardUrl", link)

    def _alarms(self, names: Sequence[str]) -> Iterator[Row]:
        """Yield the alarms of these names; those that changed last come first."""
        stack = Stack.of(self)
        arns = [
            stack.format_arn(
                service="cloudwatch",
                resource="alarm",
                resource_name=name,
                arn_format=ArnFormat.COLON_RESOURCE_NAME,
            )
            for name in names
        ]
        for start in range(0, len(arns), _ALARMS):
            batch = arns[start : start + _ALARMS]
            yield [
                cloudwatch.AlarmStatusWidget(
                    title="Alarms",
                    alarms=[
                        cloudwatch.Alarm.from_alarm_arn(self, f"Alarm{start + number}", arn)
                        for number, arn in enumerate(batch)
                    ],
                    sort_by=cloudwatch.AlarmStatusWidgetSortBy.STATE_UPDATED_TIMESTAMP,
                    width=widgets.FULL,
                    height=min(2 + len(batch) // 8, 12),
                )
            ]
