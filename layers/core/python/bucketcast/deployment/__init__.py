"""A deployment, read from its stack's outputs.

`health` and `status` read the state of its targets, `pauses` pauses them, `invocation` calls its
functions, `removal` protects waiting messages during a deploy.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from bucketcast.aws.clients import LOCAL_HINT, Aws, aws_errors
from bucketcast.destination import Destination, TargetArn, TopicArn, short_name
from bucketcast.errors import BucketcastError, NoAnswer, did_you_mean
from bucketcast.rules import access_events
from bucketcast.rules.sent_events import Part
from bucketcast.settings.environment import ANY_BUCKET
from bucketcast.state.dynamic_targets import Table
from bucketcast.state.items import DynamicTarget, Topic

TAKES_EFFECT: Final = 600
"""Seconds until a change of a bucket's notifications is in effect: twice S3's figure."""
_TAKES_EFFECT = "TakesEffect"
_KMS_KEY = "KmsKey"
_ATTACHMENTS = "Attachments"
"""Prefix of the outputs of attached buckets."""
_DYNAMIC = "DynamicTargets"


class NoTargetError(BucketcastError):
    """The stack has no such target."""


class DynamicSetup(msgspec.Struct, frozen=True, kw_only=True):
    """The stack's setup for dynamic targets, from its outputs.

    `functions` are names by kind. `queues` and `queue_arns` are the URL and ARN of a queue without
    its name. `prefix` begins the names of queues and functions, `secrets` those of secrets;
    `queue_end` ends the names of new queues. `timeout` and `visibility` are seconds;
    `max_concurrency` is None if the mappings have no limit of their own. The alarms notify the
    topic with the ARN `topic`, "" for none. `local` is True for a local stack; `tls_skip_verify`
    allows targets to skip the check of certificates elsewhere too. `topics_per_user` is the most
    topics of a user, 0 for no limit; `topics_in_cleartext` lets topics log in to Kafka without TLS.
    `allow_private` are the private networks that webhooks may connect to. `kms_key` is the ARN of
    the key that encrypts queues, "" for SQS's own. `object_facts` is True if ingest may read
    objects of any bucket.
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
    topics_in_cleartext: bool = False
    allow_private: tuple[str, ...] = ()
    kms_key: str = ""
    object_facts: bool = False

    def queue_name(self, key: str, token: str) -> str:
        """Return the name of the queue of the target with this key."""
        return f"{self.prefix}{key.replace(':', '-')}-{token}{self.queue_end}"

    def url(self, queue: str) -> str:
        return f"{self.queues}/{queue}"

    def arn(self, queue: str) -> str:
        return f"{self.queue_arns}:{queue}"


@dataclass(frozen=True, slots=True)
class DeployedTarget:
    """One target of the stack; `queue` and `dead` are URLs, `function` is a name.

    `dynamic` is the item of a dynamic target, None for a deployed one. Events of a target that is
    not `enabled` wait.
    """

    arn: str
    kind: str
    id: str
    function: str
    queue: str
    dead: str
    dynamic: DynamicTarget | None = None
    enabled: bool = True

    @property
    def name(self) -> str:
        """What people call it: `KIND:ID`, or the ARN of its topic."""
        return short_name(self.arn)

    @property
    def is_topic(self) -> bool:
        """Whether it is a topic, which only calls about topics show and change."""
        return isinstance(self.dynamic, Topic)

    @property
    def state(self) -> str:
        """The state of a dynamic target (`DynamicTarget.state`), "on" for a deployed one."""
        return self.dynamic.state if self.dynamic else "on"


@dataclass(frozen=True, slots=True)
class DeployedPipeline:
    """The pipeline's bucket, and the name in Glue of each job of `bucketcast.settings.pipeline`.

    `scans` are the options of configured scans, by bucket.
    """

    bucket: str
    jobs: Mapping[str, str]
    scans: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Deployed:
    """A stack's outputs.

    `object_facts` are the buckets whose objects ingest may read, `buckets` those that the deploy
    attached, with their transports, and `parts` what they send if S3 sends it to the queue.
    `access_events` are the names of events whose calls CloudTrail logs, by bucket. `dynamic` is the
    setup for dynamic targets. `pipeline` is None if the configuration has no `[pipeline]`.
    `inactive` are dynamic targets that get no events: removed while messages waited, or with the
    ARN of a deployed one.
    `kms_key` is the ARN of the customer's key that encrypts queues, "" for SQS's own.
    A change of a bucket's notifications is in effect after `takes_effect` seconds.
    """

    stack: str
    ingress_queue: str
    state_table: str
    ingest_function: str
    targets: tuple[DeployedTarget, ...]
    dynamic: DynamicSetup
    object_facts: frozenset[str] = frozenset()
    buckets: Mapping[str, str] = field(default_factory=dict)
    access_events: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pipeline: DeployedPipeline | None = None
    inactive: tuple[DeployedTarget, ...] = ()
    takes_effect: float = TAKES_EFFECT
    kms_key: str = ""
    parts: Mapping[str, Part] = field(default_factory=dict)

    @property
    def all_targets(self) -> tuple[DeployedTarget, ...]:
        """The targets, with those that get no events."""
        return (*self.targets, *self.inactive)

    @property
    def functions(self) -> list[str]:
        """Ingest, and the functions of all targets: their logs have the steps of events."""
        functions = (target.function for target in self.all_targets)
        return list(dict.fromkeys([self.ingest_function, *filter(None, functions)]))

    def not_logged(self, bucket: str, events: Iterable[str]) -> str:
        """Return a hint if only CloudTrail reports some of these events, and logs none, else ""."""
        logged = self.access_events.get(bucket, ())
        missing = access_events.not_logged(events, logged)
        return access_events.hint(bucket, missing, logged) if missing else ""

    def looks_into(self, bucket: str) -> bool:
        """Return True if ingest may read the bucket's objects."""
        return not self.object_facts.isdisjoint((bucket, ANY_BUCKET))

    def target(self, arn: TargetArn | TopicArn) -> DeployedTarget:
        """Return the target of an ARN, ignoring its region as MinIO does.

        A persistent topic is one of them.

        Raises:
            NoTargetError: it does not exist.
        """
        for target in self.targets:
            if Destination.of(target.arn).key == arn.key:
                return target
        if isinstance(arn, TopicArn):
            raise NoTargetError(
                f"{arn} has no queue: there is no such topic, or it is not persistent or has no "
                "push-endpoint; `bucketcast topic ls` lists topics"
            )
        known = [target.name for target in self.targets]
        suggestion = did_you_mean(arn.short, known)
        available = ", ".join(known) or "none: add one to bucketcast.toml and deploy"
        raise NoTargetError(
            f"no target {arn.short} in the stack {self.stack}: {suggestion}available: {available}"
        )


def find(stack: str, aws: Aws) -> Deployed:
    """Return the deployment of a stack, with its dynamic targets.

    Raises:
        NoAnswer: the stack does not exist, or is not Bucketcast's.
        AwsError: AWS cannot be reached.
    """
    deployed = read_outputs(stack, aws)
    dynamic_targets = _dynamic_targets(deployed.dynamic, deployed.state_table, aws)
    deployed_arns = {target.arn for target in deployed.targets}
    inactive = [
        entry for entry in dynamic_targets if entry.arn in deployed_arns or entry.state == "kept"
    ]
    active = [entry for entry in dynamic_targets if entry not in inactive]
    targets = sorted((*deployed.targets, *active), key=lambda target: target.arn)
    return replace(deployed, targets=tuple(targets), inactive=tuple(inactive))


def read_outputs(stack: str, aws: Aws) -> Deployed:
    """Return the deployment of a stack without its dynamic targets, of which there may be many.

    Raises:
        NoAnswer: the stack does not exist, or is not Bucketcast's.
        AwsError: AWS cannot be reached.
    """
    outputs = _outputs(stack, aws)
    if missing := sorted({"IngressQueueUrl", "StateTable", _DYNAMIC} - outputs.keys()):
        raise NoAnswer(
            f"the stack {stack} is not a whole Bucketcast: it lacks outputs "
            f"({', '.join(missing)}); deploy it again, or name another with --stack"
        )
    targets = msgspec.convert(_json_outputs(outputs, "Target"), list[DeployedTarget])
    attached = _json_outputs(outputs, _ATTACHMENTS)
    pipelines = msgspec.convert(_json_outputs(outputs, "Pipeline"), list[DeployedPipeline])
    return Deployed(
        stack,
        outputs["IngressQueueUrl"],
        outputs["StateTable"],
        f"{stack}-ingest",
        tuple(sorted(targets, key=lambda target: target.arn)),
        _dynamic(outputs),
        _object_facts(outputs),
        {entry["bucket"]: entry["via"] for entry in attached},
        {entry["bucket"]: tuple(entry.get("access_events", ())) for entry in attached},
        pipelines[0] if pipelines else None,
        (),
        float(outputs.get(_TAKES_EFFECT, TAKES_EFFECT)),
        outputs.get(_KMS_KEY, ""),
        {entry["bucket"]: Part.of(**entry.get("part", {})) for entry in attached},
    )


def _dynamic(outputs: Mapping[str, str]) -> DynamicSetup:
    more = {
        "topic": outputs.get("AlarmTopic", ""),
        "kms_key": outputs.get(_KMS_KEY, ""),
        "object_facts": bool(_object_facts(outputs)),
    }
    return msgspec.convert({**json.loads(outputs[_DYNAMIC]), **more}, DynamicSetup)


def _dynamic_targets(setup: DynamicSetup, table: str, aws: Aws) -> list[DeployedTarget]:
    """Return the current dynamic targets."""
    with aws_errors():
        return [
            DeployedTarget(
                target.arn,
                target.kind,
                target.id,
                setup.functions.get(target.kind, ""),
                setup.url(target.queue),
                setup.url(target.dead),
                target,
                target.state != "off",
            )
            for target in Table(table, aws.dynamodb).targets()
        ]


def _object_facts(outputs: Mapping[str, str]) -> frozenset[str]:
    """Return the buckets whose objects ingest may read."""
    return frozenset(json.loads(outputs.get("ObjectFacts", "[]")))


def _json_outputs(outputs: Mapping[str, str], begin: str) -> list[dict[str, Any]]:
    """Parse the JSON outputs of one kind of construct."""
    return [json.loads(text) for key, text in outputs.items() if key.startswith(begin)]


def _outputs(stack: str, aws: Aws) -> Mapping[str, str]:
    client = aws.cloudformation
    with aws_errors():
        try:
            stacks = client.describe_stacks(StackName=stack)["Stacks"]
        except client.exceptions.ClientError as error:
            if error.response["Error"]["Code"] != "ValidationError":  # its code for a missing stack
                raise
            stacks = []
    if not stacks:
        raise NoAnswer(
            f"no stack {stack} in {client.meta.region_name} at {client.meta.endpoint_url}: deploy "
            f"it, or name another with --stack or BUCKETCAST_STACK; {LOCAL_HINT}"
        )
    return {output["OutputKey"]: output["OutputValue"] for output in stacks[0].get("Outputs", ())}


def settings(target: DeployedTarget, aws: Aws) -> Mapping[str, str]:
    """Return a target's settings, with references instead of secrets.

    Raises:
        AwsError: AWS cannot be reached.
    """
    if target.dynamic:
        return target.dynamic.settings
    with aws_errors():
        configuration = aws.functions.get_function_configuration(FunctionName=target.function)
    text = (
        configuration.get("Environment", {}).get("Variables", {}).get("BUCKETCAST_SETTINGS", "{}")
    )
    loaded: Mapping[str, str] = json.loads(text)
    return loaded
