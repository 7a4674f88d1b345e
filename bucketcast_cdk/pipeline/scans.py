"""Start scans on a schedule, or when S3 has written an Inventory report."""

import json
from collections.abc import Mapping
from typing import Final

from aws_cdk import Duration, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda_destinations as destinations
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from bucketcast.config.pipeline import ScanConfig
from bucketcast.notifications.eventbridge import fit_rule_name
from bucketcast.settings.pipeline import arguments
from bucketcast_cdk import eventbridge
from bucketcast_cdk.assets import Context
from bucketcast_cdk.function import Function
from bucketcast_cdk.permissions import allow, arn

_EXECUTION: Final = "<aws.scheduler.execution-id>"
_MAX_EVENT_AGE: Final = Duration.hours(1).to_seconds()


class Scans(Construct):
    """One schedule per bucket, and one function for all scans that wait for a report.

    `job` is the name of the job in Glue, `runs` the folder of its runs, and `dead_letters` the
    queue for failed starts.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        context: Context,
        *,
        job: str,
        runs: str,
        dead_letters: sqs.Queue,
    ) -> None:
        super().__init__(scope, construct_id)
        self._context = context
        self._prefix = f"{Stack.of(self).stack_name}-"
        self._dead_letters = dead_letters
        self._job = job
        self._runs = runs
        scans = context.config.scans
        if scheduled := {bucket: scan for bucket, scan in scans.items() if scan.schedule}:
            self._schedule(scheduled)
        if reported := {bucket: scan for bucket, scan in scans.items() if scan.on_inventory}:
            self._start_on_reports(reported)

    def _allow_starting(self, role: iam.Role) -> None:
        allow(role, ["glue:StartJobRun"], [arn(self, "glue", f"job/{self._job}")])

    def _schedule(self, scans: Mapping[str, ScanConfig]) -> None:
        """Let EventBridge Scheduler start the job; a run has the id of the schedule's execution."""
        # A schedule of another account must not assume this role through the service.
        own_account = {"StringEquals": {"aws:SourceAccount": Stack.of(self).account}}
        service = iam.ServicePrincipal("scheduler.amazonaws.com", conditions=own_account)
        role = iam.Role(self, "Role", assumed_by=service)
        self._allow_starting(role)
        self._dead_letters.grant(role, "sqs:SendMessage")
        for bucket, scan in scans.items():
            run = {"--run": f"{self._runs}/{bucket}/{_EXECUTION}"}
            request = {
                "JobName": self._job,
                "JobRunQueuingEnabled": True,
                "Arguments": {**_arguments(bucket, scan), **run},
            }
            scheduler.CfnSchedule(
                self,
                f"On-{bucket}",
                schedule_expression=scan.schedule,
                flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
                target=scheduler.CfnSchedule.TargetProperty(
                    arn=f"arn:{Stack.of(self).partition}:scheduler:::aws-sdk:glue:startJobRun",
                    role_arn=role.role_arn,
                    input=Stack.of(self).to_json_string(request),
                    dead_letter_config=scheduler.CfnSchedule.DeadLetterConfigProperty(
                        arn=self._dead_letters.queue_arn
                    ),
                    retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(
                        maximum_event_age_in_seconds=_MAX_EVENT_AGE
                    ),
                ),
            )

    def _start_on_reports(self, scans: Mapping[str, ScanConfig]) -> None:
        start = Function(
            self,
            "ScanStart",
            self._context,
            name=f"{self._prefix}scan-start",
            folder="scan_start",
            environment={"BUCKETCAST_JOB": self._job, "BUCKETCAST_RUNS": self._runs},
            memory=256,
            timeout=Duration.seconds(30),
        )
        self._allow_starting(start.role)
        start.function.configure_async_invoke(
            on_failure=destinations.SqsDestination(self._dead_letters)
        )
        eventbridge.allow_calls(start, "report-*")
        for bucket, scan in scans.items():
            if scan.report:
                self._make_rule(bucket, scan, *scan.report, start)

    def _make_rule(
        self, bucket: str, scan: ScanConfig, report_bucket: str, folder: str, start: Function
    ) -> None:
        """Make the rule that starts the scan after a report, with the scan's arguments."""
        detail = {
            "bucket": {"name": [report_bucket]},
            "object": {"key": [{"wildcard": f"{folder}/*/manifest.checksum".lstrip("/")}]},
        }
        start_scan = events.CfnRule.TargetProperty(
            id="scan-start",
            arn=start.function.function_arn,
            dead_letter_config=events.CfnRule.DeadLetterConfigProperty(
                arn=self._dead_letters.queue_arn
            ),
            input_transformer=events.CfnRule.InputTransformerProperty(
                input_paths_map={
                    "id": "$.id",
                    "bucket": "$.detail.bucket.name",
                    "key": "$.detail.object.key",
                },
                input_template=_input_template(bucket, scan),
            ),
        )
        created = ["Object Created"]
        events.CfnRule(
            Construct(self, f"Report-{bucket}"),
            "Resource",
            name=fit_rule_name(f"{self._prefix}report-", bucket),
            description=f"Inventory reports in {report_bucket}/{folder}",
            event_pattern={"source": ["aws.s3"], "detail-type": created, "detail": detail},
            targets=[start_scan],
        )


def _input_template(bucket: str, scan: ScanConfig) -> str:
    """Return the function's payload; EventBridge adds quotation marks to the values it inserts.

    EventBridge takes a name between < and > for a variable, also within a string.
    """
    arguments = json.dumps(_arguments(bucket, scan))
    arguments = arguments.replace("<", r"\u003c").replace(">", r"\u003e")
    return f'{{"id": <id>, "bucket": <bucket>, "key": <key>, "arguments": {arguments}}}'


def _arguments(bucket: str, scan: ScanConfig) -> dict[str, str]:
    return arguments({"bucket": bucket, **scan.options})
