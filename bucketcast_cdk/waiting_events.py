"""Refuse a deploy that would remove a target, or a kind's function, while its events wait."""

from collections.abc import Mapping
from typing import Final

from aws_cdk import CustomResource, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from bucketcast_cdk import nag
from bucketcast_cdk.assets import Context
from bucketcast_cdk.custom_resources import SERVICE_TIMEOUT, CustomResources
from bucketcast_cdk.dynamic_targets import DynamicTargets
from bucketcast_cdk.ingest import Ingest
from bucketcast_cdk.permissions import arn

# SQS's counts are right a minute after the last message came, the emulator's at once.
_SETTLE: Final = 60
_SETTLE_LOCALLY: Final = 5


class WaitingEvents:
    """Two custom resources that check the queues of the targets that a deploy removes.

    They are in every stack, since CloudFormation calls a removed resource only when it is too late
    to refuse. One runs before ingest's function changes, since from then on the target's events
    are dropped, even if the deploy is then refused. The other runs after it, when no more events
    arrive. The functions of `dynamic` targets change after the first, which prepares their queues.
    """

    def __init__(
        self,
        scope: Construct,
        context: Context,
        custom_resources: CustomResources,
        *,
        ingest: Ingest,
        dynamic: DynamicTargets,
        queues: Mapping[str, tuple[str, str]],
    ) -> None:
        """Check the `queues`: the URLs of a target's queue and dead letters, by its ARN."""
        self._custom_resources = custom_resources
        self._ingest = ingest
        self._scope = Construct(scope, "Targets")
        config = context.config
        policies = [self._policy(dynamic.queues), custom_resources.rights]
        timeout = _SETTLE_LOCALLY if context.local else _SETTLE
        properties = {
            "Queues": {target: list(urls) for target, urls in queues.items()},
            "Discard": list(config.removed.discard),
            "Kinds": list(config.dynamic_targets.kinds),
            "StateTable": ingest.table.table_name,
            "Timeout": str(timeout),
        }
        if dynamic.queues:
            properties["DynamicQueues"] = ingest.queues
            properties["DynamicVisibility"] = str(dynamic.visibility)
        before = self._check("Before", {**properties, "Settle": "0"})
        before.node.add_dependency(*policies)
        ingest.writer.node.add_dependency(before)
        dynamic.wait_for(before)
        after = self._check("After", {**properties, "Settle": str(timeout)})
        after.node.add_dependency(*policies, ingest.writer)

    def _check(self, construct_id: str, properties: Mapping[str, object]) -> CustomResource:
        return CustomResource(
            self._scope,
            construct_id,
            resource_type="Custom::Targets",
            service_token=self._custom_resources.service_token,
            service_timeout=SERVICE_TIMEOUT,
            properties=properties,
        )

    def _policy(self, dynamic_queues: str) -> iam.Policy:
        # The queues of removed targets are in no template any more.
        queues = arn(self._scope, "sqs", f"{Stack.of(self._scope).stack_name}-*")
        policy = iam.Policy(
            self._scope,
            "Policy",
            roles=[self._custom_resources.role],
            statements=[
                iam.PolicyStatement(actions=["sqs:GetQueueAttributes"], resources=[queues]),
                iam.PolicyStatement(
                    actions=["dynamodb:Query"], resources=[self._ingest.table.table_arn]
                ),
            ],
        )
        nag.accept_wildcards(policy, [queues], nag.REMOVED_QUEUES)
        if dynamic_queues:
            policy.add_statements(
                iam.PolicyStatement(actions=["sqs:SetQueueAttributes"], resources=[dynamic_queues])
            )
            nag.accept_wildcards(policy, [dynamic_queues], nag.DYNAMIC_TARGETS)
        return policy
