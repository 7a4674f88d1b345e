"""A deployment, read from its stack's outputs."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from bucketcast.aws.clients import LOCAL_HINT, Aws, aws_errors
from bucketcast.destination import TargetArn, TopicArn
from bucketcast.errors import BucketcastError, did_you_mean
from bucketcast.rules import loops
from bucketcast.settings.environment import ANY_BUCKET
from bucketcast.state.dynamic_targets import DynamicTarget, Table

TAKES_EFFECT: Final = 600
"""Seconds after which a change is in effect: twice what S3 names."""


_EFFECT = "TakesEffect"
_KMS_KEY = "KmsKey"
_ATTACHMENTS = "Attachments"
"""How the outputs of attached buckets begin."""
_SUMMARY = ("arn", "kind", "id", "function", "queue", "dead", "enabled", "writes")


class DynamicSetup(msgspec.Struct, frozen=True, kw_only=True):
    """What a stack has for dynamic targets, as its output says.

    `functions` are names by kind. `queues` is the URL of any queue but for its name, `queue_arns`
    the same of ARNs. `prefix` begins the names of the queues and the functions, `secrets` those of
    the secrets; `queue_end` ends the names of new queues. `timeout` and `visibility` are seconds;
    `max_concurrency` is None where the mappings have no limit of their own. `topic` is the ARN of
    whom the alarms tell, "" for nobody.
    `local` is whether it is one laptop's, `tls_skip_verify` whether whoever deployed it lets
    targets skip the check of certificates elsewhere too. `topics_per_user` is how many topics a
    user may have, 0 for any number. `allow_private` is what webhooks may connect to beyond public
    addresses. `kms_key` is the ARN of the key that queues are encrypted with, "" for SQS's own.
    """

    functions: Mapping[str, str]
    queues: str
    queue_arns: str
    prefix: str
    secrets: str
    timeout: int
    visibility: int
    queue_end: str = ""
    max_concurrency: int | None = None
    topic: str = ""
    local: bool = False
    tls_skip_verify: bool = False
    topics_per_user: int = 0
    allow_private: tuple[str, ...] = ()
    kms_key: str = ""

    def queue_name(self, kind: str, id: str, token: str) -> str:  # noqa: A002 - MinIO's word
        """Return what a target's queue is called."""
        return f"{self.prefix}{kind}-{id}-{token}{self.queue_end}"

    def url(self, queue: str) -> str:
        return f"{self.queues}/{queue}"

    def arn(self, queue: str) -> str:
        return f"{self.queue_arns}:{queue}"


@dataclass(frozen=True, slots=True)
class DeployedTarget:
    """One target of the stack; `queue` and `dead` are URLs, `function` is a name.

    `made` are the settings of a dynamic target, None for a deployed one. If it is not `enabled`
    its events wait. `writes` is the bucket of Amazon S3 that its URL points to, "" for none.
    """

    arn: str
    kind: str
    id: str
    function: str
    queue: str
    dead: str
    made: DynamicTarget | None = None
    enabled: bool = True
    writes: str = ""

    @property
    def state(self) -> str:
        """The state of a dynamic target (`DynamicTarget.state`), "on" for a deployed one."""
        return self.made.state if self.made else "on"


@dataclass(frozen=True, slots=True)
class DeployedPipeline:
    """The pipeline's bucket, and the name in Glue of each job of `bucketcast.settings.pipeline`."""

    bucket: str
    jobs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Deployed:
    """A stack's outputs.

    `object_facts` are the buckets whose objects ingest may read, `buckets` those that the deploy
    attached, with their transports. `trail` is the trail of access events, "" if no bucket has
    them, and `access_events` are the buckets that have; `trail_selectors` is whether what it logs
    follows the rules, `bucket_events` whether it also logs created and removed buckets.
    `pipeline` is None if the configuration has no `[pipeline]`. `dynamic` is what the stack has for
    dynamic targets, and `resting` are those of them that get no events: removed while messages
    waited, or with the ARN of a deployed one.
    `kms_key` is the ARN of the customer's key that queues are encrypted with, "" for SQS's own.
    `takes_effect` is the seconds after which a change of a bucket's notifications is in effect.
    """

    stack: str
    ingress_queue: str
    state_table: str
    ingest_function: str
    targets: tuple[DeployedTarget, ...]
    object_facts: frozenset[str] = frozenset()
    buckets: Mapping[str, str] = field(default_factory=dict)
    trail: str = ""
    bucket_events: bool = False
    access_events: frozenset[str] = frozenset()
    pipeline: DeployedPipeline | None = None
    dynamic: DynamicSetup | None = None
    resting: tuple[DeployedTarget, ...] = ()
    takes_effect: float = TAKES_EFFECT
    trail_selectors: bool = True
    kms_key: str = ""

    def looks_into(self, bucket: str) -> bool:
        """Return whether ingest may read the bucket's objects."""
        return not self.object_facts.isdisjoint((bucket, ANY_BUCKET))

    def target(self, arn: TargetArn | TopicArn) -> DeployedTarget:
        """Return the target of an ARN, ignoring its region as MinIO does.

        A persistent topic has a dynamic target of its own.

        Raises:
            BucketcastError: there is none.
        """
        if isinstance(arn, TopicArn):
            return self._target_of(arn)
        wanted = arn.plain
        known = [target.arn for target in self.targets]
        for target in self.targets:
            if target.arn == wanted:
                return target
        near = did_you_mean(wanted, known)
        available = ", ".join(known) or "none: add one to bucketcast.toml and deploy"
        raise BucketcastError(
            f"no target {wanted} in the stack {self.stack}: {near}available: {available}"
        )

    def _target_of(self, topic: TopicArn) -> DeployedTarget:
        for target in self.targets:
            if target.made and target.id == topic.target_id:
                return target
        raise BucketcastError(
            f"{topic.arn} has no queue: there is no such topic, or it is not persistent or has no "
            "push-endpoint; `bucketcast topic ls` lists topics"
        )


def find(stack: str, aws: Aws) -> Deployed:
    """Return the deployment of a stack.

    Raises:
        BucketcastError: the stack does not exist, or is not Bucketcast's.
        AwsError: AWS cannot be reached.
    """
    outputs = _outputs(stack, aws)
    if "IngressQueueUrl" not in outputs or "StateTable" not in outputs:
        raise BucketcastError(
            f"the stack {stack} is not a whole Bucketcast: it has no outputs IngressQueueUrl and "
            "StateTable; deploy it again, or name another with --stack"
        )
    targets = [
        DeployedTarget(**{name: summary[name] for name in _SUMMARY if name in summary})
        for summary in _of(outputs, "Target")
    ]
    dynamic = _dynamic(outputs)
    made = _made(dynamic, outputs["StateTable"], aws) if dynamic else []
    by_file = {target.arn for target in targets}
    resting = [each for each in made if each.arn in by_file or each.state == "kept"]
    targets += [each for each in made if each not in resting]
    attached = _of(outputs, _ATTACHMENTS)
    pipelines = [DeployedPipeline(**each) for each in _of(outputs, "Pipeline")]
    return Deployed(
        stack,
        outputs["IngressQueueUrl"],
        outputs["StateTable"],
        f"{stack}-ingest",
        tuple(sorted(targets, key=lambda target: target.arn)),
        frozenset(json.loads(outputs.get("ObjectFacts", "[]"))),
        {each["bucket"]: each["via"] for each in attached},
        outputs.get("AccessTrail", ""),
        "BucketEvents" in outputs,
        frozenset(each["bucket"] for each in attached if each.get("access_events") == "on"),
        pipelines[0] if pipelines else None,
        dynamic,
        tuple(resting),
        float(outputs.get(_EFFECT, TAKES_EFFECT)),
        outputs.get("TrailSelectors") != "off",
        outputs.get(_KMS_KEY, ""),
    )


def dynamic(stack: str, aws: Aws) -> DynamicSetup | None:
    """Return what a stack has for dynamic targets, without reading the targets.

    Raises:
        BucketcastError: there is no such stack.
        AwsError: AWS cannot be reached.
    """
    return _dynamic(_outputs(stack, aws))


def _dynamic(outputs: Mapping[str, str]) -> DynamicSetup | None:
    more = {"topic": outputs.get("AlarmTopic", ""), "kms_key": outputs.get(_KMS_KEY, "")}
    found = [
        msgspec.convert({**each, **more}, DynamicSetup) for each in _of(outputs, "DynamicTargets")
    ]
    return found[0] if found else None


def _made(setup: DynamicSetup, table: str, aws: Aws) -> list[DeployedTarget]:
    """Return the current dynamic targets."""
    with aws_errors():
        return [
            DeployedTarget(
                each.arn,
                each.kind,
                each.id,
                setup.functions.get(each.kind, ""),
                setup.url(each.queue),
                setup.url(each.dead),
                each,
                each.state != "off",
                loops.bucket_in(each.settings.get("endpoint", "")),
            )
            for each in Table(table, aws.dynamodb).targets()
        ]


def _of(outputs: Mapping[str, str], begin: str) -> list[dict[str, Any]]:
    """Return the outputs that are JSON, of one kind of construct."""
    return [json.loads(text) for key, text in outputs.items() if key.startswith(begin)]


def _outputs(stack: str, aws: Aws) -> Mapping[str, str]:
    client = aws.cloudformation
    with aws_errors():
        try:
            found = client.describe_stacks(StackName=stack)["Stacks"]
        except client.exceptions.ClientError as error:
            if error.response["Error"]["Code"] != "ValidationError":  # its code for a missing stack
                raise
            found = []
    if not found:
        raise BucketcastError(
            f"no stack {stack} in {client.meta.region_name} at {client.meta.endpoint_url}: deploy "
            f"it, or name another with --stack or BUCKETCAST_STACK; {LOCAL_HINT}"
        )
    return {each["OutputKey"]: each["OutputValue"] for each in found[0].get("Outputs", ())}


def settings(target: DeployedTarget, aws: Aws) -> Mapping[str, str]:
    """Return a target's settings, with references instead of secrets.

    Raises:
        AwsError: AWS cannot be reached.
    """
    if target.made:
        return target.made.settings
    with aws_errors():
        found = aws.functions.get_function_configuration(FunctionName=target.function)
    text = found.get("Environment", {}).get("Variables", {}).get("BUCKETCAST_SETTINGS", "{}")
    loaded: Mapping[str, str] = json.loads(text)
    return loaded
