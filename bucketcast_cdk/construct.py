"""The construct: ingest, one delivery per configured target, and the attached buckets."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from aws_cdk import Annotations, RemovalPolicy, Stack, Tags, Token
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from bucketcast.config import load
from bucketcast.config.deployable import deploy_errors
from bucketcast.config.model import Deployment
from bucketcast.errors import ConfigError, ConfigErrors
from bucketcast_cdk import customer_key, existing
from bucketcast_cdk.alarms import make_alarms
from bucketcast_cdk.assets import Assets, Context
from bucketcast_cdk.attachments import Attachments
from bucketcast_cdk.bundling import ROOT
from bucketcast_cdk.dashboard import make_dashboard
from bucketcast_cdk.delivery import Delivery
from bucketcast_cdk.dynamic_targets import DynamicTargets, allow_inspecting
from bucketcast_cdk.gateway import Gateway
from bucketcast_cdk.ingest import Ingest
from bucketcast_cdk.outputs import output
from bucketcast_cdk.pipeline import Pipeline
from bucketcast_cdk.platform import LAMBDA, local_platform
from bucketcast_cdk.trail import make_trail


class Bucketcast(Construct):
    """Bucket notifications for a stack: queues, functions, state table, alarms and attachments.

    Names of queues and functions begin with the stack's name, so a stack holds one. `config` is the
    path of a `bucketcast.toml`, its tables as a mapping, or what `bucketcast.config.load` returned;
    the variables `MINIO_NOTIFY_*` count in the last case only. `buckets` are constructs for its
    tables `[bucket.NAME]`, by that name. `local` is for the local AWS: bundles for this
    interpreter, and nothing outlives the stack.

    `ingress` is the queue that all sources write to; `target(kind, id)` has a target's queues and
    function, for metrics, alarms and grants.

    Raises:
        ConfigErrors: all that is wrong with the configuration, or a limit of AWS that it reaches.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        config: Deployment | Mapping[str, Any] | Path | str,
        buckets: Mapping[str, s3.IBucket] | None = None,
        local: bool = False,
    ) -> None:
        super().__init__(scope, construct_id)
        stack = Stack.of(self)
        constructs = dict(buckets or {})
        config = existing.replace_names(_load(config, local=local), constructs)
        errors = [*_scope_errors(self), *deploy_errors(config, stack.stack_name, local=local)]
        if errors:
            raise ConfigErrors(errors)
        self.node.add_validation(existing.NotificationConflict(constructs, config.buckets))
        assets = Assets(self, "Assets", ROOT, local_platform() if local else LAMBDA)
        self._annotate(config, assets)
        context = Context(config, assets, local)
        ingest = Ingest(self, "Ingest", context)
        self.ingress = ingest.monitored
        self._targets = {
            (target.kind, target.id): Delivery(
                self,
                f"Target-{target.kind}-{target.id}",
                context,
                target=target,
                table=ingest.table,
            )
            for target in config.targets
        }
        deliveries = list(self._targets.values())
        queues = [delivery.queue for delivery in deliveries]
        ingest.allow_sending(queues)
        dynamic = DynamicTargets(self, "DynamicTargets", context, ingest=ingest)
        if config.access_events and config.trail.create and not local:
            make_trail(Construct(self, "Access"), context)
        attachments = Attachments(
            self,
            "Attachments",
            context,
            ingest=ingest,
            labels={bucket.bucket_name: name for name, bucket in constructs.items()},
        )
        failures = (
            Pipeline(
                self,
                "Pipeline",
                context,
                options=config.pipeline,
                ingest=ingest,
                queues=queues,
                dynamic=dynamic,
            ).failures
            if config.pipeline
            else None
        )
        Tags.of(self).add("application", "bucketcast")
        if config.gateway.function_url:
            gateway = Gateway(self, "Gateway", context, ingest=ingest)
            dynamic.allow_managing(gateway.role)
            allow_inspecting(gateway.role, deliveries)
            output(self, "GatewayUrl", gateway.url)
            if gateway.listen_url:
                output(self, "ListenUrl", gateway.listen_url)
        self._outputs(ingest, config, attachments)
        monitored = [ingest.monitored, *(delivery.monitored for delivery in deliveries)]
        customer_key.encrypt(self, config.kms_key)
        _keep_policies(self, context.removal_policy)
        # The local AWS evaluates no alarms, and refuses those of two metrics.
        alarms = (
            []
            if local
            else make_alarms(
                self,
                queues=monitored,
                failures=failures,
                looking=attachments.custom_resources.name,
                options=config.alarms,
            )
        )
        if config.dashboard:
            make_dashboard(self, queues=monitored, alarms=alarms, local=local)

    def target(self, kind: str, id_: str) -> Delivery:
        """Return the queues and the function of the target `[notify_<kind>.<id>]`.

        Raises:
            KeyError: the configuration has no such target.
        """
        return self._targets[kind, id_]

    def _annotate(self, config: Deployment, assets: Assets) -> None:
        """Add the configuration's notes, and a warning about missing bytecode, to the synthesis."""
        for note in config.notes:
            Annotations.of(self).add_info(note)
        if assets.lacks_bytecode:
            Annotations.of(self).add_warning_v2(
                "bucketcast:no-bytecode",
                f"python{assets.platform.python} is not installed, so the layers have no bytecode "
                "and cold starts take two to three times as long; install it, e.g. with "
                f"`uv python install {assets.platform.python}`",
            )

    def _outputs(self, ingest: Ingest, config: Deployment, attachments: Attachments) -> None:
        output(self, "IngressQueueUrl", ingest.queue.queue_url)
        output(self, "StateTable", ingest.table.table_name)
        output(self, "TakesEffect", str(attachments.custom_resources.takes_effect))
        output(self, "ObjectFacts", json.dumps(sorted(config.facts.buckets)))


def _load(config: Deployment | Mapping[str, Any] | Path | str, *, local: bool) -> Deployment:
    if isinstance(config, Deployment):
        return config
    source = Path(config) if isinstance(config, str) else config
    return load(source, {}, local=local)


def _keep_policies(scope: Construct, removal_policy: RemovalPolicy) -> None:
    """Keep the policies of what is kept: to remove one CloudFormation would empty it."""
    for node in scope.node.find_all():
        if isinstance(node, s3.BucketPolicy | sqs.QueuePolicy):
            node.apply_removal_policy(removal_policy)


def _scope_errors(construct: Bucketcast) -> Iterator[ConfigError]:
    """Yield the errors of a Bucketcast in a nested stack, or beside another one."""
    stack = Stack.of(construct)
    if Token.is_unresolved(stack.stack_name):
        yield ConfigError(
            construct.node.path,
            "is in a nested stack, whose name only the deploy knows",
            "put it into a stack of the app: its names begin with the stack's",
        )
    constructs = [node for node in stack.node.find_all() if isinstance(node, Bucketcast)]
    if len(constructs) > 1:
        yield ConfigError(
            construct.node.path,
            f"is the second in stack {stack.stack_name}",
            "allowed is one per stack, with all targets in one configuration",
        )
