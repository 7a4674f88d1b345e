"""When scans start by themselves: on a schedule, or when S3 has written an Inventory report."""

import json
from collections.abc import Mapping
from typing import Final

from aws_cdk import Duration, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from bucketcast.config import ScanConfig
from bucketcast.jobs import arguments
from stacks.assets import Assets
from stacks.function import Function
from stacks.wiring import Wiring

_EXECUTION: Final = "<aws.scheduler.execution-id>"
_PATIENCE: Final = Duration.hours(1).to_seconds()


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
        wiring: Wiring,
    ) -> None:
        super().__init__(scope, construct_id)
        stack = Stack.of(self)
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
            for bucket in sorted({scan.report[0] for scan in waiting.values() if scan.report}):
                wiring.tell_eventbridge(bucket)

    def _schedule(self, scans: Mapping[str, ScanConfig]) -> None:
        """EventBridge Scheduler starts the job itself; a run is called by the execution's id."""
        # A schedule of another account must not become this role through the service they share.
        ours = {"StringEquals": {"aws:SourceAccount": Stack.of(self).account}}
        scheduler_itself = iam.ServicePrincipal("scheduler.amazonaws.com", conditions=ours)
        role = iam.Role(self, "Role", assumed_by=scheduler_itself)
        role.add_to_policy(self._may_start)
        for bucket, scan in scans.items():
            run = {"--run": f"{self._runs}/{_EXECUTION}"}
            asked = {"JobName": self._job, "Arguments": {**_arguments(bucket, scan), **run}}
            scheduler.CfnSchedule(
                self,
                f"On-{bucket}",
                schedule_expression=scan.schedule,
                flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
                target=scheduler.CfnSchedule.TargetProperty(
                    arn=f"arn:{Stack.of(self).partition}:scheduler:::aws-sdk:glue:startJobRun",
                    role_arn=role.role_arn,
                    input=Stack.of(self).to_json_string(asked),
                    retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(
                        maximum_event_age_in_seconds=_PATIENCE
                    ),
                ),
            )

    def _wait(self, scans: Mapping[str, ScanConfig], assets: Assets) -> None:
        by_folder = {
            "s3://" + "/".join(scan.report): _arguments(bucket, scan)
            for bucket, scan in scans.items()
            if scan.report
        }
        made = Function(
            self,
            "Start",
            name=f"{Stack.of(self).stack_name}-start",
            folder="start",
            assets=assets,
            layers=[assets.runtime()],
            environment={
                "BUCKETCAST_JOB": self._job,
                "BUCKETCAST_RUNS": self._runs,
                "BUCKETCAST_SCANS": json.dumps(by_folder),
            },
            memory=256,
            timeout=Duration.seconds(30),
        )
        made.role.add_to_policy(self._may_start)
        for bucket, scan in scans.items():
            if scan.report:
                where, folder = scan.report
                self._rule(f"Report-{bucket}", where, folder, made)

    def _rule(self, construct_id: str, bucket: str, folder: str, start: Function) -> None:
        detail = {
            "bucket": {"name": [bucket]},
            "object": {"key": [{"wildcard": f"{folder}/*/manifest.checksum".lstrip("/")}]},
        }
        events.Rule(
            self,
            construct_id,
            description=f"Inventory reports in {bucket}/{folder}",
            event_pattern=events.EventPattern(
                source=["aws.s3"], detail_type=["Object Created"], detail=detail
            ),
            targets=[targets.LambdaFunction(start.function)],
        )


def _arguments(bucket: str, scan: ScanConfig) -> dict[str, str]:
    return arguments({"bucket": bucket, **scan.options})
