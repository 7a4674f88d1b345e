"""The stack: ingest, one delivery a configured target, and the configured buckets' wiring."""

import json
from pathlib import Path
from typing import Any

from aws_cdk import Annotations, CfnOutput, Stack, Tags
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from bucketcast.config import Deployment
from bucketcast.errors import ConfigErrors
from stacks import limits, rules
from stacks.access import Access
from stacks.alarms import page, watch_called
from stacks.assets import Assets
from stacks.control import Control
from stacks.delivery import Delivery
from stacks.entry import Entry
from stacks.ingest import Ingest
from stacks.lost import Lost
from stacks.nesting import Nesting
from stacks.pipeline import Pipeline
from stacks.platform import LAMBDA, local_platform
from stacks.runtime import Runtime, let_look
from stacks.scans import Scans, report_buckets
from stacks.wiring import Wiring


class Bucketcast(Stack):
    """Everything that one configuration asks for.

    Raises:
        ConfigErrors: the configuration reaches a limit of AWS.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        config: Deployment,
        root: Path,
        local: bool = False,
        **stack: Any,
    ) -> None:
        super().__init__(scope, construct_id, **stack)
        if wrong := limits.mistakes(config, self.stack_name):
            raise ConfigErrors(wrong)
        for note in config.notes:
            Annotations.of(self).add_info(note)
        assets = Assets(self, "Assets", root, local_platform() if local else LAMBDA)
        if assets.lacks_bytecode:
            Annotations.of(self).add_warning_v2(
                "bucketcast:no-bytecode",
                f"no python{assets.platform.python} on this machine to compile the layers with: "
                "cold starts take two to three times as long",
            )
        nesting = Nesting(self, on=config.nested)
        ingest = Ingest(self, "Ingest", config=config, assets=assets, nesting=nesting, local=local)
        deliveries = [
            Delivery(
                self,
                f"Target-{target.kind}-{target.id}",
                target=target,
                sync_events=config.sync_events,
                assets=assets,
                keep=not local,
                table=ingest.rules,
                keys=config.kms_keys,
                nesting=nesting,
            )
            for target in config.targets
        ]
        queues = [delivery.queue for delivery in deliveries]
        ingest.feeds(queues)
        ingest.let_write(rules.of_stack(self))
        runtime = Runtime(
            self,
            "Runtime",
            config=config,
            ingest=ingest,
            assets=assets,
            nesting=nesting,
            local=local,
        )
        trail = None
        if not local and any(bucket.access_events for bucket in config.buckets.values()):
            trail = Access(self, "Access").trail
            CfnOutput(self, "AccessTrail", value=trail.trail_arn)
        wiring = Wiring(
            self,
            "Wiring",
            trail=trail,
            buckets=config.buckets,
            ingest=ingest,
            assets=assets,
            nesting=nesting,
            reports=report_buckets(config.scans),
            local=local,
        )
        waiting = {each.arn: each.queues for each in deliveries}
        wiring.keep_what_waits(waiting, config.discard, config.runtime.kinds)
        if config.pipeline:
            pipeline = Pipeline(
                self,
                "Pipeline",
                options=config.pipeline,
                config=config,
                ingest=ingest,
                queues=queues,
                assets=assets,
                nesting=nesting,
                local=local,
            )
            names = [job.name for job in pipeline.jobs.values()]
            lost = Lost(self, "Lost", jobs=names, nesting=nesting)
            Scans(
                self,
                "Scans",
                scans=config.scans,
                job=pipeline.jobs["scan"].name,
                runs=pipeline.runs("scan"),
                assets=assets,
                entries=wiring,
                lost=lost.queue,
                nesting=nesting,
            )
        Tags.of(self).add("application", "bucketcast")
        if config.entry:
            entry = Entry(
                self,
                "Entry",
                config=config.entry,
                ingest=ingest,
                assets=assets,
                keys=config.kms_keys,
            )
            self._watch(nesting, entry, "entry", entry.function)
            CfnOutput(self, "EntryUrl", value=entry.url)
        if config.control:
            control = Control(self, "Control", ingest=ingest, assets=assets)
            runtime.let_manage(control.role)
            let_look(control.role, deliveries)
            if trail:
                control.let_follow(trail)
            self._watch(nesting, control, "control", control.function)
            CfnOutput(self, "ControlUrl", value=control.url)
        self._outputs(ingest, config)
        page(self, config.alarms, local=local)

    @staticmethod
    def _watch(nesting: Nesting, own: Construct, name: str, function: lambda_.Function) -> None:
        place = nesting.place("Alarms", name, own)
        watch_called(place, f"{nesting.prefix}{name}", function)

    def _outputs(self, ingest: Ingest, config: Deployment) -> None:
        CfnOutput(self, "IngressQueueUrl", value=ingest.queue.queue_url)
        CfnOutput(self, "RulesTable", value=ingest.rules.table_name)
        CfnOutput(self, "ObjectFacts", value=json.dumps(sorted(config.facts.buckets)))
