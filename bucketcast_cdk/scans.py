"""When scans start by themselves: on a schedule, or when S3 has written an Inventory report."""

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

from bucketcast.attach import notifications
from bucketcast.config import ScanConfig
from bucketcast.settings.jobs import arguments
from bucketcast_cdk import eventbridge
from bucketcast_cdk.alarms import watch_called
from bucketcast_cdk.assets import Assets
from bucketcast_cdk.attachments import Attachments
from bucketcast_cdk.function import Function
from bucketcast_cdk.nested_stacks import Nesting

_EXECUTION: Final = "<aws.scheduler.execution-id>"
_MAX_EVENT_AGE: Final = Duration.hours(1).to_seconds()


class Scans(Construct):
    """One schedule a bucket, and one function for all that wait for a report.

    `job` is the name of the job in Glue, and `runs` the folder of its runs.
    """

    def __init__(  # noqa: PLR0913 - what starts a scan
        self,
        scope: Construct,
        construct_id: str,
        *,
        scans: Mapping[str, ScanConfig],
        job: str,
        runs: str,
        assets: Assets,
        entries: Attachments,
        lost: sqs.Queue,
        nesting: Nesting,
    ) -> None:
        super().__init__(scope, construct_id)
        stack = Stack.of(self)
        self._nesting = nesting
        self._lost = lost
        self._job = job
        self._runs = runs
        self._may_start = iam.PolicyStatement(
            actions=["glue:StartJobRun"],
            resources=[f"arn:{stack.partition}:glue:{stack.region}:{stack.account}:job/{job}"],
        )
        timed = {bucket: scan for bucket, scan in scans.items() if scan.schedule}
        if timed:
            self._schedule(timed)
        waiting = {bucket: scan for bucket, scan in scans.items() if scan.on_inventory}
        if waiting:
            self._wait(waiting, assets)
            for bucket in report_buckets(scans):
                entries.tell_eventbridge(bucket)

    def _schedule(self, scans: Mapping[str, ScanConfig]) -> None:
        """EventBridge Scheduler starts the job itself; a run is called by the execution's id."""
        # A schedule of another account must not become this role through the service they share.
        ours = {"StringEquals": {"aws:SourceAccount": Stack.of(self).account}}
        scheduler_itself = iam.ServicePrincipal("scheduler.amazonaws.com", conditions=ours)
        place = self._nesting.place("Starts", "Schedules", self)
        role = iam.Role(place, "Role", assumed_by=scheduler_itself)
        role.add_to_policy(self._may_start)
        self._lost.grant(role, "sqs:SendMessage")
        for bucket, scan in scans.items():
            run = {"--run": f"{self._runs}/{_EXECUTION}"}
            request = {"JobName": self._job, "Arguments": {**_arguments(bucket, scan), **run}}
            scheduler.CfnSchedule(
                self._nesting.place("Starts", bucket, self),
                f"On-{bucket}",
                schedule_expression=scan.schedule,
                flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
                target=scheduler.CfnSchedule.TargetProperty(
                    arn=f"arn:{Stack.of(self).partition}:scheduler:::aws-sdk:glue:startJobRun",
                    role_arn=role.role_arn,
                    input=Stack.of(self).to_json_string(request),
                    dead_letter_config=scheduler.CfnSchedule.DeadLetterConfigProperty(
                        arn=self._lost.queue_arn
                    ),
                    retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(
                        maximum_event_age_in_seconds=_MAX_EVENT_AGE
                    ),
                ),
            )

    def _wait(self, scans: Mapping[str, ScanConfig], assets: Assets) -> None:
        made = Function(
            self._nesting.place("Starts", "Reports", self),
            "Start",
            name=f"{self._nesting.prefix}start",
            folder="start",
            assets=assets,
            layers=[assets.runtime()],
            environment={
                "BUCKETCAST_JOB": self._job,
                "BUCKETCAST_RUNS": self._runs,
            },
            memory=256,
            timeout=Duration.seconds(30),
        )
        made.role.add_to_policy(self._may_start)
        made.function.configure_async_invoke(on_failure=destinations.SqsDestination(self._lost))
        place = self._nesting.place("Alarms", "Start", made)
        watch_called(place, f"{self._nesting.prefix}start", made.function)
        stack = Stack.of(self)
        # One for all rules: a function's policy has 20 KB.
        made.function.add_permission(
            "Rules",
            principal=iam.ServicePrincipal("events.amazonaws.com"),
            source_account=stack.account,
            source_arn=eventbridge.of_stack(stack),
        )
        for bucket, scan in scans.items():
            if scan.report:
                self._rule(bucket, scan, *scan.report, made)

    def _rule(
        self, bucket: str, scan: ScanConfig, where: str, folder: str, start: Function
    ) -> None:
        """Let a report of the scan start it; the rule hands the scan's arguments over."""
        detail = {
            "bucket": {"name": [where]},
            "object": {"key": [{"wildcard": f"{folder}/*/manifest.checksum".lstrip("/")}]},
        }
        eventbridge.make(
            self._nesting.place("Starts", bucket, self),
            f"Report-{bucket}",
            name=notifications.within_rule_name(f"{self._nesting.prefix}report-", bucket),
            description=f"Inventory reports in {where}/{folder}",
            pattern={"source": ["aws.s3"], "detail-type": ["Object Created"], "detail": detail},
            target=events.CfnRule.TargetProperty(
                id="start",
                arn=start.function.function_arn,
                dead_letter_config=events.CfnRule.DeadLetterConfigProperty(
                    arn=self._lost.queue_arn
                ),
                input_transformer=events.CfnRule.InputTransformerProperty(
                    input_paths_map={
                        "id": "$.id",
                        "bucket": "$.detail.bucket.name",
                        "key": "$.detail.object.key",
                    },
                    input_template=_handed(bucket, scan),
                ),
            ),
        )


def report_buckets(scans: Mapping[str, ScanConfig]) -> list[str]:
    """Return the buckets whose reports start a scan."""
    return sorted({each.report[0] for each in scans.values() if each.on_inventory and each.report})


def _handed(bucket: str, scan: ScanConfig) -> str:
    """Return what the function is called with; EventBridge puts quotes around what it fills in.

    It takes what stands between < and > for the name of such a place, also within a text.
    """
    arguments = json.dumps(_arguments(bucket, scan))
    arguments = arguments.replace("<", r"\u003c").replace(">", r"\u003e")
    return f'{{"id": <id>, "bucket": <bucket>, "key": <key>, "arguments": {arguments}}}'


def _arguments(bucket: str, scan: ScanConfig) -> dict[str, str]:
    return arguments({"bucket": bucket, **scan.options})
