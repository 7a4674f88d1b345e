"""Attach the configured buckets to the ingress queue; other entries in their notifications stay."""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from aws_cdk import CfnOutput, CustomResource, Duration, Stack, Token
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct, IDependable

from bucketcast.attach import notifications
from bucketcast.aws import lock
from bucketcast.aws.attach import cutover
from bucketcast.aws.attach.cutover import TAKES_EFFECT
from bucketcast.config import Bucket, Deployment
from bucketcast.rules import access_events
from bucketcast_cdk import eventbridge, nag
from bucketcast_cdk.assets import Assets
from bucketcast_cdk.function import Function
from bucketcast_cdk.ingest import Ingest
from bucketcast_cdk.nested_stacks import Nesting
from bucketcast_cdk.removal_policy import removal_policy
from bucketcast_cdk.runtime import Runtime
from bucketcast_cdk.trail import trail_name

_TIMEOUT: Final = Duration.minutes(4)
# Should the function not even start, CloudFormation gives up then; its own default is an hour.
_SERVICE_TIMEOUT: Final = Duration.minutes(5)
_AT_ONCE: Final = Duration.seconds(0)
# SQS's counts are right a minute after the last message came, here at once.
_SETTLE: Final = 60
_SETTLE_HERE: Final = 5
# Of the 6,144 characters of a managed policy, what is left for the ARNs of buckets; and an ARN
# without its name, in the partition that is called longest.
_POLICY: Final = 5_900
_BUCKET_NAME: Final = 63
_ARN: Final = len('"arn:aws-us-gov:s3:::",')


TARGETS: Final = "Custom::Targets"


class Attachments(Construct):
    """The function behind the custom resources, and one `AttachedBucket` a configured bucket.

    Its id, the ids in it and the function's name are those of deployed stacks. With others an
    update would fail: CloudFormation makes each resource anew before it removes the old one, the
    names of buckets and rules are taken, and a custom resource cannot change its function.
    """

    def __init__(  # noqa: PLR0913 - the parts of the stack that it connects
        self,
        scope: Construct,
        construct_id: str,
        *,
        config: Deployment,
        trail: str | None,
        ingest: Ingest,
        assets: Assets,
        nesting: Nesting,
        reports: Collection[str],
        labels: Mapping[str, str],
        local: bool,
    ) -> None:
        """Attach the configured buckets; those with `reports` send events to EventBridge only.

        `trail` is the ARN of what logs access events, `labels` are words for buckets whose names
        only the deploy knows.
        """
        super().__init__(scope, construct_id)
        buckets = config.buckets
        self._ingest = ingest
        self._assets = assets
        self._local = local
        self._labels = labels
        # The S3 of one machine heeds a change at once.
        self._overlap = _AT_ONCE if local else Duration.seconds(TAKES_EFFECT)
        rights = [self._rights]
        if config.trail and trail and config.trail_selectors:
            rights.append(self._let_follow(trail))
        self._policies = dict(self._groups({*buckets, *reports}))
        for name, bucket in buckets.items():
            AttachedBucket(
                self,
                self._label(name),
                name=name,
                bucket=bucket,
                trail=trail if bucket.access_events else None,
                config=config,
                custom_resources=self._custom_resources,
                ingest=ingest,
                overlap=self._overlap,
                rights=(*rights, self._policies[name]),
                keep=not local,
                nesting=nesting,
            )

    @property
    def takes_effect(self) -> str:
        """Return after how many seconds S3 has heeded a change."""
        return str(self._overlap.to_seconds())

    def _label(self, bucket: str) -> str:
        """Return what ids and names are made of."""
        return self._labels.get(bucket, bucket)

    def tell_eventbridge(self, bucket: str) -> None:
        """Let S3 tell EventBridge of a bucket's events, of which ingest takes none by this."""
        ours = {"Id": f"{Stack.of(self).stack_name}-reports", "Via": "eventbridge"}
        scope = Construct(self, f"Reports-{self._label(bucket)}")
        entry = _entry(
            scope, bucket, ours, custom_resources=self._custom_resources, ingest=self._ingest
        )
        entry.node.add_dependency(self._policies[bucket])
        if attached := self.node.try_find_child(self._label(bucket)):
            entry.node.add_dependency(attached)  # each reads the whole document and writes it back

    def keep_what_waits(
        self,
        queues: Mapping[str, tuple[str, str]],
        discard: Sequence[str],
        kinds: Sequence[str],
        runtime: Runtime,
    ) -> None:
        """Refuse a deploy that would remove a target, by its ARN, for which something waits.

        Or the function of a kind of which there are run-time targets; `kinds` are those that stay.

        One resource for all, and always there, since CloudFormation asks a resource that is
        removed only when it is too late to refuse. And it asks twice: before ingest is told that
        the target is gone, since from then on its events go nowhere, also where the deploy is then
        refused; and after that, when nothing comes any more. The functions of `runtime` are changed
        after the first, which prepares their queues.
        """
        scope = Construct(self, "Targets")
        policy = self._let_look_at_queues(scope, runtime.queues)
        timeout = _SETTLE_HERE if self._local else _SETTLE
        hidden = {
            "RuntimeQueues": self._ingest.queues,
            "RuntimeVisibility": str(runtime.visibility),
        }
        before, after = (
            CustomResource(
                scope,
                name,
                resource_type=TARGETS,
                service_token=self._custom_resources.function.function_arn,
                service_timeout=_SERVICE_TIMEOUT.plus(self._overlap),
                properties={
                    "Queues": {arn: list(urls) for arn, urls in queues.items()},
                    "Discard": list(discard),
                    "Kinds": list(kinds),
                    "RulesTable": self._ingest.rules.table_name,
                    **(hidden if runtime.queues else {}),
                    "Settle": str(settle),
                    "Timeout": str(timeout),
                },
            )
            for name, settle in (("Before", 0), ("After", timeout))
        )
        before.node.add_dependency(policy, self._rights)
        self._ingest.writer.node.add_dependency(before)
        runtime.wait_for(before)
        after.node.add_dependency(policy, self._rights, self._ingest.writer)

    def _let_look_at_queues(self, scope: Construct, runtime: str) -> iam.Policy:
        """Return the rights to ask how many messages wait, and to prepare run-time queues."""
        stack = Stack.of(self)
        # The queues of removed targets are in no template any more.
        ours = f"arn:{stack.partition}:sqs:{stack.region}:{stack.account}:{stack.stack_name}-*"
        policy = iam.Policy(
            scope,
            "Policy",
            roles=[self._custom_resources.role],
            statements=[
                iam.PolicyStatement(actions=["sqs:GetQueueAttributes"], resources=[ours]),
            ],
        )
        nag.accept_looking_at_queues(policy, ours)
        if runtime:
            policy.add_statements(
                iam.PolicyStatement(actions=["sqs:SetQueueAttributes"], resources=[runtime])
            )
            nag.accept_names_made_later(policy, [runtime])
        return policy

    @cached_property
    def _rights(self) -> iam.Policy:
        """The rights to say since when a bucket is attached, and to let our trail follow its rules.

        And to ask whether a deploy is rolled back.

        Once for all buckets, since IAM limits what the policies of a role come to. The same with
        and without access events: where they are switched off, or their bucket goes, the trail is
        told after the policies have changed. The buckets are attached at the same time and their
        trail is one: hence the lock.
        """
        stack = Stack.of(self)
        where = f"arn:{stack.partition}:cloudtrail:{stack.region}:{stack.account}"
        table = self._ingest.rules.table_arn
        keys = {"dynamodb:LeadingKeys": [cutover.KEY, lock.KEY]}
        return iam.Policy(
            self,
            "Rights",
            roles=[self._custom_resources.role],
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

    def _let_follow(self, trail: str) -> iam.Policy:
        """Return the rights to a trail that is named, called by it.

        Where another is named there is a new policy, and CloudFormation takes the old one away only
        after the trail of before was told.
        """
        digest = hashlib.blake2b(trail.encode(), digest_size=4).hexdigest()
        actions = ["cloudtrail:GetEventSelectors", "cloudtrail:PutEventSelectors"]
        statement = iam.PolicyStatement(actions=actions, resources=[trail])
        return iam.Policy(
            self, f"Trail-{digest}", roles=[self._custom_resources.role], statements=[statement]
        )

    @cached_property
    def _custom_resources(self) -> Function:
        """The function behind the custom resources.

        A request is given to it once: tried again minutes later, as Lambda does by default, it
        would write what a deploy wanted that is rolled back meanwhile.
        """
        made = Function(
            self,
            "Wire",
            name=f"{Stack.of(self).stack_name}-wiring",
            folder="custom_resources",
            assets=self._assets,
            layers=[self._assets.core(), self._assets.runtime()],
            environment={},
            memory=256,
            timeout=_TIMEOUT.plus(self._overlap),
        )
        made.function.configure_async_invoke(retry_attempts=0, max_event_age=_SERVICE_TIMEOUT)
        return made

    def _groups(self, buckets: Collection[str]) -> Iterator[tuple[str, iam.ManagedPolicy]]:
        """Yield the rights to attach, by bucket: as many buckets in a policy as IAM takes.

        A policy is called by what is in it. So when a bucket leaves the configuration there is a
        new policy, and CloudFormation takes the old one away only after the bucket's entry, which
        depends on it, has come out.
        """
        partition = Stack.of(self).partition
        for names in _filled(sorted(buckets, key=self._label)):
            labels = "/".join(map(self._label, names))
            digest = hashlib.blake2b(labels.encode(), digest_size=4).hexdigest()
            policy = iam.ManagedPolicy(
                self,
                f"Buckets-{digest}",
                roles=[self._custom_resources.role],
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


class AttachedBucket(Construct):
    """One bucket, made here or found."""

    def __init__(  # noqa: PLR0913 - the parts of the stack that it connects
        self,
        scope: Construct,
        construct_id: str,
        *,
        name: str,
        bucket: Bucket,
        trail: str | None,
        config: Deployment,
        custom_resources: Function,
        ingest: Ingest,
        overlap: Duration,
        rights: Sequence[IDependable],
        keep: bool,
        nesting: Nesting,
    ) -> None:
        super().__init__(scope, construct_id)
        stack = Stack.of(self)
        entry = _entry(
            self,
            name,
            {
                "Id": notifications.entry_id(stack.stack_name),
                "Via": bucket.via,
                "RulesTable": ingest.rules.table_name,
                "Overlap": str(overlap.to_seconds()),
                **(_logged(trail, stack.stack_name, config) if trail else {}),
            },
            custom_resources=custom_resources,
            ingest=ingest,
            timeout=_SERVICE_TIMEOUT.plus(overlap),
        )
        entry.node.add_dependency(*rights)
        if bucket.create:
            entry.node.add_dependency(self._create(name, keep=keep))
        label = construct_id
        place = nesting.place("Rules", label, self)
        if bucket.via == "eventbridge":
            rule = eventbridge.to_queue(
                place,
                "Rule",
                name=notifications.within_rule_name(f"{nesting.prefix}bucket-", label),
                description=f"Events of bucket {label}",
                pattern=notifications.pattern(name),
                ingest=ingest,
            )
            # S3 may tell EventBridge only when somebody there listens.
            entry.node.add_dependency(rule)
        if bucket.access_events:
            eventbridge.to_queue(
                place,
                "AccessRule",
                name=notifications.within_rule_name(f"{nesting.prefix}access-", label),
                description=f"Access events of bucket {label}",
                pattern=access_events.pattern(name, bucket_events=config.bucket_events),
                ingest=ingest,
            )
        document = {"bucket": name, "via": bucket.via, "access_events": "on" if trail else "off"}
        summary = stack.to_json_string(document)
        CfnOutput(self, "Output", value=summary)

    def _create(self, name: str, *, keep: bool) -> s3.Bucket:
        made = s3.Bucket(
            self,
            "Bucket",
            bucket_name=name,
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            enforce_ssl=True,
            removal_policy=removal_policy(keep=keep),
        )
        nag.accept_no_access_log(made)
        return made


def _logged(trail: str, stack: str, config: Deployment) -> dict[str, str]:
    """Return what a trail is told of a bucket: again where CloudFormation wrote its selectors."""
    if not config.trail_selectors:
        return {}
    bucket_events = "on" if config.bucket_events else "off"
    return {"Trail": trail, "Stack": stack, "BucketEvents": bucket_events}


def _entry(
    scope: Construct,
    bucket: str,
    ours: Mapping[str, str],
    *,
    custom_resources: Function,
    ingest: Ingest,
    timeout: Duration = _SERVICE_TIMEOUT,
) -> CustomResource:
    """Return the custom resource that keeps our entry in a bucket's notifications."""
    stack = Stack.of(scope)
    entry = CustomResource(
        scope,
        "Notification",
        resource_type="Custom::BucketNotification",
        service_token=custom_resources.function.function_arn,
        service_timeout=timeout,
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
    """Yield the names in groups, each as large as a policy may be."""
    group: list[str] = []
    for name in names:
        if sum(map(_longest, [*group, name])) + _ARN * (len(group) + 1) > _POLICY:
            yield group
            group = []
        group.append(name)
    if group:
        yield group


def _longest(name: str) -> int:
    """Return how long a name may be; one that only the deploy knows takes all that S3 allows."""
    return _BUCKET_NAME if Token.is_unresolved(name) else len(name)
