"""The configured buckets, tied to the ingress queue; what else their notifications hold stays."""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from aws_cdk import CfnOutput, CustomResource, Duration, Stack
from aws_cdk import aws_cloudtrail as cloudtrail
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct, IDependable

from bucketcast import access, wiring
from bucketcast.config import Bucket
from bucketcast.store import lock, switches
from bucketcast.store.switches import TAKES_EFFECT
from stacks import nag, rules
from stacks.access import trail_name
from stacks.assets import Assets
from stacks.function import Function
from stacks.ingest import Ingest
from stacks.keeping import kept
from stacks.nesting import Nesting

_TIMEOUT: Final = Duration.minutes(4)
# Should the function not even start, CloudFormation gives up then; its own default is an hour.
_PATIENCE: Final = Duration.minutes(5)
_AT_ONCE: Final = Duration.seconds(0)
# SQS's counts are right a minute after the last message came, here at once.
_SETTLE: Final = 60
_SETTLE_HERE: Final = 5
# Of the 6,144 characters of a managed policy, what is left for the ARNs of buckets; and an ARN
# without its name, in the partition that is called longest.
_POLICY: Final = 5_900
_ARN: Final = len('"arn:aws-us-gov:s3:::",')


TARGETS: Final = "Custom::Targets"


class Wiring(Construct):
    """The function behind the custom resources, and one `WiredBucket` a configured bucket."""

    def __init__(  # noqa: PLR0913 - what wiring is made of
        self,
        scope: Construct,
        construct_id: str,
        *,
        buckets: Mapping[str, Bucket],
        trail: cloudtrail.Trail | None,
        ingest: Ingest,
        assets: Assets,
        nesting: Nesting,
        reports: Collection[str],
        local: bool,
    ) -> None:
        """Wire the `buckets`; of those with `reports` EventBridge alone is to be told."""
        super().__init__(scope, construct_id)
        self._ingest = ingest
        self._assets = assets
        self._local = local
        # The S3 of one machine heeds a change at once.
        self._overlap = _AT_ONCE if local else Duration.seconds(TAKES_EFFECT)
        effect = CfnOutput(self, "Effect", value=str(self._overlap.to_seconds()))
        effect.override_logical_id("TakesEffect")
        self._policies = dict(self._groups({*buckets, *reports}))
        for name, bucket in buckets.items():
            followed = trail if bucket.access_events else None
            WiredBucket(
                self,
                name,
                bucket=bucket,
                trail=followed,
                wire=self._wire,
                ingest=ingest,
                overlap=self._overlap,
                rights=(self._rights, self._policies[name]),
                keep=not local,
                nesting=nesting,
            )

    def tell_eventbridge(self, bucket: str) -> None:
        """Let S3 tell EventBridge of a bucket's events, of which ingest takes none by this."""
        ours = {"Id": f"{Stack.of(self).stack_name}-reports", "Via": "eventbridge"}
        scope = Construct(self, f"Reports-{bucket}")
        entry = _entry(scope, bucket, ours, wire=self._wire, ingest=self._ingest)
        entry.node.add_dependency(self._policies[bucket])
        if wired := self.node.try_find_child(bucket):
            entry.node.add_dependency(wired)  # each reads the whole document and writes it back

    def keep_what_waits(
        self, queues: Mapping[str, tuple[str, str]], discard: Sequence[str], kinds: Sequence[str]
    ) -> None:
        """Refuse a deploy that would remove a target, by its ARN, for which something waits.

        Or the function of a kind of which there are run-time targets; `kinds` are those that stay.

        One resource for all, and always there, since CloudFormation asks a resource that is
        removed only when it is too late to refuse. And it asks twice: before ingest is told that
        the target is gone, since from then on its events go nowhere, also where the deploy is then
        refused; and after that, when nothing comes any more.
        """
        scope = Construct(self, "Targets")
        policy = self._let_look_at_queues(scope)
        patience = _SETTLE_HERE if self._local else _SETTLE
        before, after = (
            CustomResource(
                scope,
                name,
                resource_type=TARGETS,
                service_token=self._wire.function.function_arn,
                service_timeout=_PATIENCE.plus(self._overlap),
                properties={
                    "Queues": {arn: list(urls) for arn, urls in queues.items()},
                    "Discard": list(discard),
                    "Kinds": list(kinds),
                    "RulesTable": self._ingest.rules.table_name,
                    "Settle": str(settle),
                    "Patience": str(patience),
                },
            )
            for name, settle in (("Before", 0), ("After", patience))
        )
        before.node.add_dependency(policy, self._rights)
        self._ingest.writer.node.add_dependency(before)
        after.node.add_dependency(policy, self._rights, self._ingest.writer)

    def _let_look_at_queues(self, scope: Construct) -> iam.Policy:
        """The rights to ask how many messages wait."""
        stack = Stack.of(self)
        # The queues of removed targets are in no template any more.
        ours = f"arn:{stack.partition}:sqs:{stack.region}:{stack.account}:{stack.stack_name}-*"
        policy = iam.Policy(
            scope,
            "Policy",
            roles=[self._wire.role],
            statements=[
                iam.PolicyStatement(actions=["sqs:GetQueueAttributes"], resources=[ours]),
            ],
        )
        nag.accept_looking_at_queues(policy, ours)
        return policy

    @cached_property
    def _rights(self) -> iam.Policy:
        """The rights to say since when a bucket is wired, and to let our trail follow its rules.

        And to ask whether a deploy is rolled back.

        Once for all buckets, since IAM limits what the policies of a role come to. The same with
        and without access events: where they are switched off, or their bucket goes, the trail is
        told after the policies have changed. The buckets are wired at the same time and their
        trail is one: hence the lock.
        """
        stack = Stack.of(self)
        where = f"arn:{stack.partition}:cloudtrail:{stack.region}:{stack.account}"
        table = self._ingest.rules.table_arn
        keys = {"dynamodb:LeadingKeys": [switches.KEY, lock.KEY]}
        return iam.Policy(
            self,
            "Rights",
            roles=[self._wire.role],
            statements=[
                iam.PolicyStatement(
                    actions=["dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem"],
                    resources=[table],
                    conditions={"ForAllValues:StringEquals": keys},
                ),
                iam.PolicyStatement(actions=["dynamodb:Query"], resources=[table]),
                iam.PolicyStatement(
                    actions=["cloudtrail:GetEventSelectors", "cloudtrail:PutEventSelectors"],
                    resources=[f"{where}:trail/{trail_name(stack.stack_name)}"],
                ),
                iam.PolicyStatement(
                    actions=["cloudformation:DescribeStacks"], resources=[stack.stack_id]
                ),
            ],
        )

    @cached_property
    def _wire(self) -> Function:
        """The function behind the custom resources.

        A request is given to it once: tried again minutes later, as Lambda does by default, it
        would write what a deploy wanted that is rolled back meanwhile.
        """
        made = Function(
            self,
            "Wire",
            name=f"{Stack.of(self).stack_name}-wiring",
            folder="wiring",
            assets=self._assets,
            layers=[self._assets.core(), self._assets.runtime()],
            environment={},
            memory=256,
            timeout=_TIMEOUT.plus(self._overlap),
        )
        made.function.configure_async_invoke(retry_attempts=0, max_event_age=_PATIENCE)
        return made

    def _groups(self, buckets: Collection[str]) -> Iterator[tuple[str, iam.ManagedPolicy]]:
        """The rights to wire, by bucket: as many buckets in a policy as IAM takes.

        A policy is called by what is in it. So when a bucket leaves the configuration there is a
        new policy, and CloudFormation takes the old one away only after the bucket's entry, which
        depends on it, has come out.
        """
        partition = Stack.of(self).partition
        for names in _filled(sorted(buckets)):
            digest = hashlib.blake2b("/".join(names).encode(), digest_size=4).hexdigest()
            policy = iam.ManagedPolicy(
                self,
                f"Buckets-{digest}",
                roles=[self._wire.role],
                description="The notifications of the buckets of a configuration",
                statements=[
                    iam.PolicyStatement(
                        actions=["s3:GetBucketNotification", "s3:PutBucketNotification"],
                        resources=[f"arn:{partition}:s3:::{name}" for name in names],
                    )
                ],
            )
            for name in names:
                yield name, policy


class WiredBucket(Construct):
    """One bucket, made here or found."""

    def __init__(  # noqa: PLR0913 - what a wired bucket is made of
        self,
        scope: Construct,
        construct_id: str,
        *,
        bucket: Bucket,
        trail: cloudtrail.Trail | None,
        wire: Function,
        ingest: Ingest,
        overlap: Duration,
        rights: Sequence[IDependable],
        keep: bool,
        nesting: Nesting,
    ) -> None:
        super().__init__(scope, construct_id)
        stack = Stack.of(self)
        name = construct_id
        entry = _entry(
            self,
            name,
            {
                "Id": wiring.entry_id(stack.stack_name),
                "Via": bucket.via,
                "RulesTable": ingest.rules.table_name,
                "Overlap": str(overlap.to_seconds()),
                **({"Trail": trail.trail_arn, "Stack": stack.stack_name} if trail else {}),
            },
            wire=wire,
            ingest=ingest,
            patience=_PATIENCE.plus(overlap),
        )
        entry.node.add_dependency(*rights)
        if bucket.create:
            entry.node.add_dependency(self._create(name, keep=keep))
        place = nesting.place("Rules", name, self)
        if bucket.via == "eventbridge":
            rule = rules.to_queue(
                place,
                "Rule",
                name=wiring.within_rule_name(f"{nesting.prefix}bucket-", name),
                description=f"Events of bucket {name}",
                pattern=wiring.pattern(name),
                ingest=ingest,
            )
            # S3 may tell EventBridge only when somebody there listens.
            entry.node.add_dependency(rule)
        if bucket.access_events:
            rules.to_queue(
                place,
                "AccessRule",
                name=wiring.within_rule_name(f"{nesting.prefix}access-", name),
                description=f"Access events of bucket {name}",
                pattern=access.pattern(name),
                ingest=ingest,
            )
        told = {"bucket": name, "via": bucket.via, "access_events": "on" if trail else "off"}
        summary = stack.to_json_string(told)
        CfnOutput(self, "Output", value=summary)

    def _create(self, name: str, *, keep: bool) -> s3.Bucket:
        made = s3.Bucket(
            self,
            "Bucket",
            bucket_name=name,
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            enforce_ssl=True,
            removal_policy=kept(keep=keep),
        )
        nag.accept_no_access_log(made)
        return made


def _entry(
    scope: Construct,
    bucket: str,
    ours: Mapping[str, str],
    *,
    wire: Function,
    ingest: Ingest,
    patience: Duration = _PATIENCE,
) -> CustomResource:
    """The custom resource that keeps our entry in a bucket's notifications."""
    stack = Stack.of(scope)
    entry = CustomResource(
        scope,
        "Notification",
        resource_type="Custom::BucketNotification",
        service_token=wire.function.function_arn,
        service_timeout=patience,
        properties={
            "Account": stack.account,
            "Bucket": bucket,
            "QueueArn": ingest.queue.queue_arn,
            **ours,
        },
    )
    # S3 tries the queue before it takes the entry, so its policy must stand.
    entry.node.add_dependency(ingest.queue)
    return entry


def _filled(names: Sequence[str]) -> Iterator[list[str]]:
    """The names in groups, each as large as a policy may be."""
    group: list[str] = []
    for name in names:
        if sum(map(len, group)) + len(name) + _ARN * (len(group) + 1) > _POLICY:
            yield group
            group = []
        group.append(name)
    if group:
        yield group
