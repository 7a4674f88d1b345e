"""What is deployed, found by the outputs of its stack, and how it fares."""

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from bucketcast import loops
from bucketcast.arn import Arn
from bucketcast.errors import BucketcastError, did_you_mean
from bucketcast.runtime.model import Runtime, RuntimeTarget
from bucketcast.settings import ANY_BUCKET
from bucketcast.store.access import LOCAL_CURE, Aws, AwsError, explained
from bucketcast.store.runtime.table import Table
from bucketcast.store.switches import TAKES_EFFECT

if TYPE_CHECKING:
    from mypy_boto3_s3.type_defs import NotificationConfigurationResponseTypeDef
    from mypy_boto3_sqs.literals import QueueAttributeNameType

_COUNTS: "Sequence[QueueAttributeNameType]" = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)
_EFFECT = "TakesEffect"
_AT_ONCE = 16
_SUMMARY = ("arn", "kind", "id", "function", "queue", "dead", "enabled", "writes")


class NotDeployedError(BucketcastError):
    """There is no such stack, or it is none of Bucketcast's."""


class NoSuchTargetError(BucketcastError):
    """The deployment has no target with this ARN; the text lists those that it has."""


@dataclass(frozen=True, slots=True)
class DeployedTarget:
    """One target of the stack; `queue` and `dead` are URLs, `function` is a name.

    `made` is what a target was made of at run time, None for one that the deploy made.
    Where it is not `enabled` its events wait. `writes` is the bucket of Amazon S3 that its URL is
    an address in, "" where it is none.
    """

    arn: str
    kind: str
    id: str
    function: str
    queue: str
    dead: str
    made: RuntimeTarget | None = None
    enabled: bool = True
    writes: str = ""


@dataclass(frozen=True, slots=True)
class DeployedPipeline:
    """The jobs' own bucket, and what each job of `bucketcast.jobs` is called in Glue."""

    bucket: str
    jobs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Health:
    """How a target fares; None is not known, and `why` says why. Counts are SQS messages."""

    where: str
    online: bool | None
    why: str
    waiting: int | None
    dead: int | None


@dataclass(frozen=True, slots=True)
class Deployed:
    """A stack's outputs.

    `object_facts` are the buckets whose objects ingest may look at, `buckets` those that the
    deploy attached, with the way that their events come. `trail` is what the deploy logs access
    events with, "" where no bucket has them, and `access_events` are the buckets that have.
    `pipeline` is None where the configuration has no `[pipeline]`. `runtime` is what the stack has
    for targets made at run time, and `resting` are those of them that get no events: removed while
    messages waited, or with the ARN of one that the deploy made.
    `takes_effect` is after how many seconds S3 surely heeds a change of a bucket's notifications.
    """

    stack: str
    ingress_queue: str
    rules_table: str
    ingest_function: str
    targets: tuple[DeployedTarget, ...]
    object_facts: frozenset[str] = frozenset()
    buckets: Mapping[str, str] = field(default_factory=dict)
    trail: str = ""
    access_events: frozenset[str] = frozenset()
    pipeline: DeployedPipeline | None = None
    runtime: Runtime | None = None
    resting: tuple[DeployedTarget, ...] = ()
    takes_effect: float = TAKES_EFFECT

    def looks_into(self, bucket: str) -> bool:
        """Whether ingest may ask S3 about the bucket's objects."""
        return not self.object_facts.isdisjoint((bucket, ANY_BUCKET))

    def target(self, arn: Arn) -> DeployedTarget:
        """The target of an ARN, whatever its region: MinIO too puts its own in its place.

        Raises:
            NoSuchTargetError: there is none.
        """
        wanted = arn.plain
        known = [target.arn for target in self.targets]
        for target in self.targets:
            if target.arn == wanted:
                return target
        near = did_you_mean(wanted, known)
        there = ", ".join(known) or "none: add one to bucketcast.toml and deploy"
        raise NoSuchTargetError(
            f"no target {wanted} in the stack {self.stack}: {near}there is {there}"
        )


def find(stack: str, aws: Aws) -> Deployed:
    """The deployment of a stack.

    Raises:
        NotDeployedError: there is no such stack, or it is not one of Bucketcast's.
        AwsError: AWS cannot be asked.
    """
    outputs = _outputs(stack, aws)
    if "IngressQueueUrl" not in outputs or "RulesTable" not in outputs:
        raise NotDeployedError(
            f"the stack {stack} is not a whole Bucketcast: it has no outputs IngressQueueUrl and "
            "RulesTable; deploy it again, or name another with --stack"
        )
    targets = [
        DeployedTarget(**{name: summary[name] for name in _SUMMARY if name in summary})
        for summary in _of(outputs, "Target")
    ]
    runtime = _runtime(outputs)
    made = _made(runtime, outputs["RulesTable"], aws) if runtime else []
    by_file = {target.arn for target in targets}
    resting = [each for each in made if each.arn in by_file or _state(each) == "kept"]
    targets += [each for each in made if each not in resting]
    wired = _of(outputs, "Wiring")
    pipelines = [DeployedPipeline(**each) for each in _of(outputs, "Pipeline")]
    return Deployed(
        stack,
        outputs["IngressQueueUrl"],
        outputs["RulesTable"],
        f"{stack}-ingest",
        tuple(sorted(targets, key=lambda target: target.arn)),
        frozenset(json.loads(outputs.get("ObjectFacts", "[]"))),
        {each["bucket"]: each["via"] for each in wired},
        outputs.get("AccessTrail", ""),
        frozenset(each["bucket"] for each in wired if each.get("access_events") == "on"),
        pipelines[0] if pipelines else None,
        runtime,
        tuple(resting),
        float(outputs.get(_EFFECT, TAKES_EFFECT)),
    )


def runtime(stack: str, aws: Aws) -> Runtime | None:
    """What a stack has for run-time targets, without reading which there are.

    Raises:
        NotDeployedError: there is no such stack.
        AwsError: AWS cannot be asked.
    """
    return _runtime(_outputs(stack, aws))


def _runtime(outputs: Mapping[str, str]) -> Runtime | None:
    told = {"topic": outputs.get("AlarmTopic", "")}
    found = [msgspec.convert({**each, **told}, Runtime) for each in _of(outputs, "Runtime")]
    return found[0] if found else None


def _made(runtime: Runtime, table: str, aws: Aws) -> list[DeployedTarget]:
    """The targets made at run time, as they are now."""
    with explained():
        return [
            DeployedTarget(
                each.arn,
                each.kind,
                each.id,
                runtime.functions.get(each.kind, ""),
                runtime.url(each.queue),
                runtime.url(each.dead),
                each,
                each.state != "off",
                loops.bucket_in(each.settings.get("endpoint", "")),
            )
            for each in Table(table, aws.dynamodb).targets()
        ]


def _state(target: DeployedTarget) -> str:
    return target.made.state if target.made else "on"


def _of(outputs: Mapping[str, str], begin: str) -> list[dict[str, Any]]:
    """The outputs that are JSON, of one kind of construct."""
    return [json.loads(text) for key, text in outputs.items() if key.startswith(begin)]


def _outputs(stack: str, aws: Aws) -> Mapping[str, str]:
    client = aws.cloudformation
    with explained():
        try:
            found = client.describe_stacks(StackName=stack)["Stacks"]
        except client.exceptions.ClientError as error:
            if error.response["Error"]["Code"] != "ValidationError":  # its word for "not there"
                raise
            found = []
    if not found:
        raise NotDeployedError(
            f"no stack {stack} in {client.meta.region_name} at {client.meta.endpoint_url}: deploy "
            f"it, or name another with --stack or BUCKETCAST_STACK; {LOCAL_CURE}"
        )
    return {each["OutputKey"]: each["OutputValue"] for each in found[0].get("Outputs", ())}


def settings(target: DeployedTarget, aws: Aws) -> Mapping[str, str]:
    """What a target was configured with, references in the place of secrets.

    Raises:
        AwsError: AWS cannot be asked.
    """
    if target.made:
        return target.made.settings
    with explained():
        found = aws.functions.get_function_configuration(FunctionName=target.function)
    text = found.get("Environment", {}).get("Variables", {}).get("BUCKETCAST_SETTINGS", "{}")
    held: Mapping[str, str] = json.loads(text)
    return held


def health(targets: Sequence[DeployedTarget], aws: Aws) -> list[Health]:
    """Ask each target's function and queues, all at the same time."""
    if not targets:
        return []
    _ = aws.functions, aws.sqs  # making a client is not safe among threads, using one is
    with ThreadPoolExecutor(min(_AT_ONCE, 3 * len(targets))) as pool:
        asked = [
            (
                pool.submit(_probe, target, aws),
                pool.submit(depth, target.queue, aws),
                pool.submit(depth, target.dead, aws),
            )
            for target in targets
        ]
        return [
            _health(probed.result(), waiting.result(), dead.result())
            for probed, waiting, dead in asked
        ]


def _health(
    probed: tuple[bool | None, str, str],
    waiting: tuple[int | None, str],
    dead: tuple[int | None, str],
) -> Health:
    online, why, where = probed
    whys = dict.fromkeys(filter(None, (why, waiting[1], dead[1])))
    return Health(where, online, "; ".join(whys), waiting[0], dead[0])


def _probe(target: DeployedTarget, aws: Aws) -> tuple[bool | None, str, str]:
    """Online or not or unknown, why, and where to."""
    function = target.function
    if _state(target) != "on":
        why = "switched off" if _state(target) == "off" else "removed; what waited is kept"
        return False, why, ""
    if not function:
        return None, f"the stack has no function for run-time targets of kind {target.kind}", ""
    asked = {"probe": True, **({"target": target.arn} if target.made else {})}
    try:
        with explained():
            answer = aws.functions.invoke(FunctionName=function, Payload=json.dumps(asked).encode())
            body: Any = json.loads(answer["Payload"].read())
    except AwsError as error:
        if error.silent:
            return False, f"the function {function} did not answer in time", ""
        return None, str(error), ""
    if "FunctionError" in answer:
        said = body.get("errorMessage", "") if isinstance(body, dict) else body
        return False, f"the function {function} failed: {said}", ""
    return bool(body["online"]), str(body["why"]), str(body["where"])


def depth(queue: str, aws: Aws) -> tuple[int | None, str]:
    """How many messages are in a queue, those in flight and delayed too; else why not known."""
    try:
        with explained():
            answer = aws.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=_COUNTS)
    except AwsError as error:
        return None, str(error)
    return sum(map(int, answer["Attributes"].values())), ""


def why_not_wired(bucket: str, deployed: Deployed, aws: Aws) -> str:
    """What keeps this bucket's events from the stack, and its cure; empty when they come.

    A lack of permission to see it is said too: nothing is known then.
    """
    try:
        with explained():
            found = aws.s3.get_bucket_notification_configuration(Bucket=bucket)
    except AwsError as error:
        if "NoSuchBucket" in str(error):
            return f"there is no bucket {bucket} yet"
        return f"whether events of {bucket} reach Bucketcast could not be seen: {error}"
    if _is_wired(found, deployed.ingress_queue):
        return ""
    return f"events of {bucket} do not reach Bucketcast"


def _is_wired(found: "NotificationConfigurationResponseTypeDef", ingress_queue: str) -> bool:
    # The URL ends in /ACCOUNT/NAME, the ARN in :ACCOUNT:NAME.
    ending = ":" + ":".join(ingress_queue.rstrip("/").rsplit("/", 2)[1:])
    entries = found.get("QueueConfigurations", ())
    by_queue = any(entry["QueueArn"].endswith(ending) for entry in entries)
    # EventBridge's own rule cannot be seen from here: the switch must do.
    return by_queue or "EventBridgeConfiguration" in found
