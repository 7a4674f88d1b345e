"""Reads functions, their event source mappings, their roles and secrets."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bucketcast.aws import deployed
from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.aws.deployed import Deployed, DeployedTarget
from bucketcast.aws.doctor import arn_beside, at_once, unless_missing, unless_unread
from bucketcast.aws.doctor.queues import ingress_arn
from bucketcast.config.model import secret_names
from bucketcast.doctor import Finding
from bucketcast.doctor import functions as checks
from bucketcast.doctor.functions import Need

_MISSING = "ResourceNotFoundException"


class _Function(NamedTuple):
    """A function with the queue that it reads, an ARN; `target` is None for ingest."""

    subject: str
    name: str
    queue: str
    target: DeployedTarget | None = None

    @property
    def listens(self) -> bool:
        return self.target is None or self.target.enabled


def findings(deployment: Deployed, aws: Aws) -> list[Finding]:
    """Check functions, mappings, roles and secrets."""
    base = ingress_arn(deployment, aws)
    own = [_Function("ingress", deployment.ingest_function, base)]
    own += [
        _Function(target.arn, target.function, arn_beside(base, target.queue), target)
        for target in deployment.targets
        if target.function
    ]
    _ = aws.mappings, aws.iam, aws.secretsmanager  # see queues.findings

    def one(function: _Function) -> Iterator[Finding]:
        found: Any = unless_missing(
            lambda: aws.mappings.get_function_configuration(FunctionName=function.name), _MISSING
        )
        yield checks.function(function.subject, function.name, found)
        if found is None:
            return
        yield from unless_unread("mapping", function.subject, _mapping(function, aws))
        names = sorted(secret_names(_settings(function, found).values()))
        described = {name: _described(name, aws) for name in names}
        for name, description in described.items():
            yield checks.secret(function.subject, name, description)
        arns = [each["ARN"] for each in described.values() if each]
        needs = _needs(function, deployment, base, arns)
        look = _role(function.subject, str(found["Role"]), needs, aws)
        yield from unless_unread("role", function.subject, look)

    orphans = [_orphan(target) for target in deployment.targets if not target.function]
    return orphans + at_once(lambda each: unless_unread("function", each.subject, one(each)), own)


def _orphan(target: DeployedTarget) -> Finding:
    return Finding(
        "function",
        target.arn,
        "error",
        f"the stack has no function for run-time targets of kind {target.kind}: its events wait",
        f'add "{target.kind}" to [runtime] kinds in bucketcast.toml, and deploy',
    )


def _mapping(function: _Function, aws: Aws) -> Iterator[Finding]:
    if not function.listens:
        yield Finding("mapping", function.subject, "ok", "switched off: its events wait")
        return
    with aws_errors():
        found: Any = aws.mappings.list_event_source_mappings(
            FunctionName=function.name, EventSourceArn=function.queue
        )["EventSourceMappings"]
    yield checks.mapping(function.subject, function.name, function.queue, found)


def _settings(function: _Function, found: Mapping[str, Any]) -> Mapping[str, str]:
    made = function.target.made if function.target else None
    return made.settings if made else deployed.settings_in(found)


def _needs(
    function: _Function, deployment: Deployed, base: str, secret_arns: list[str]
) -> list[Need]:
    if function.target is None:
        queues = [arn_beside(base, target.queue) for target in deployment.targets]
        return [
            Need(checks.READ_QUEUE, function.queue),
            Need(checks.READ_RULES, _table(base, deployment.rules_table)),
            *(Need(checks.WRITE_QUEUE, queue) for queue in queues),
        ]
    dead = arn_beside(base, function.target.dead)
    return [
        Need((*checks.READ_QUEUE, *checks.WRITE_QUEUE), function.queue),
        Need(checks.WRITE_QUEUE, dead),
        *(Need(checks.READ_SECRET, arn) for arn in secret_arns),
    ]


def _table(queue: str, name: str) -> str:
    """Return the ARN of a table, from that of a queue of the same account and region."""
    partition, _, region, account = queue.split(":")[1:5]
    return f"arn:{partition}:dynamodb:{region}:{account}:table/{name}"


def _described(secret: str, aws: Aws) -> Any:
    return unless_missing(lambda: aws.secretsmanager.describe_secret(SecretId=secret), _MISSING)


def _role(subject: str, role: str, needs: list[Need], aws: Aws) -> Iterator[Finding]:
    lacking = []
    for need in needs:
        with aws_errors():
            found = aws.iam.simulate_principal_policy(
                PolicySourceArn=role,
                ActionNames=list(need.actions),
                ResourceArns=[need.resource],
            )["EvaluationResults"]
        denied = [each["EvalActionName"] for each in found if each["EvalDecision"] != "allowed"]
        if denied:
            lacking.append(Need(tuple(denied), need.resource))
    yield checks.role(subject, role.rpartition("/")[2], lacking)
