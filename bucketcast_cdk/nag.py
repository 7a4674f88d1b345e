"""The findings of cdk-nag's AwsSolutions pack that are accepted, each with its reason."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from aws_cdk import Acknowledgment, Stack, Validations
from constructs import IConstruct

_WILDCARD: Final = "AwsSolutions-IAM5[Resource::{}]"


class Finding(NamedTuple):
    """A rule, by its id, and the reason to accept a violation."""

    id: str
    reason: str


PYTHON_VERSION: Final = Finding(
    "AwsSolutions-L1",
    "The clients' wheels decide the Python version, and the Glue jobs run on the same one; Lambda "
    "supports it, and it is raised on purpose, not by a default.",
)
NETWORK_INTERFACES: Final = Finding(
    _WILDCARD.format("*"),
    "Lambda makes and removes network interfaces in the VPC with the function's role; their "
    "names are not known in advance, and EC2's Describe actions support no resources.",
)
IS_DEAD_LETTER_QUEUE: Final = Finding(
    "AwsSolutions-SQS3",
    "It is itself the dead-letter queue of services other than SQS; no function reads it.",
)
NO_DEAD_LETTERS: Final = Finding(
    "AwsSolutions-SQS3",
    "It is for topics that are not persistent: an event has one attempt, and a failed one "
    "is counted as lost, as their owners chose.",
)
_NO_GLUE_KEY: Final = (
    "CloudWatch encrypts its logs, which hold counts and names but no object's content; "
    "bookmarks are off. A customer managed key would cost extra."
)
GLUE_LOGS: Final = Finding("AwsSolutions-GL1", _NO_GLUE_KEY)
GLUE_BOOKMARKS: Final = Finding("AwsSolutions-GL3", _NO_GLUE_KEY)
AVAILABILITY_ZONE: Final = Finding(
    "CloudFormation-Validate::W3010",
    "It is the zone of the configured subnet, and Glue requires both.",
)
NO_ACCESS_LOG: Final = Finding(
    "AwsSolutions-S1",
    "CloudTrail's data events, which access_events enables, record who reads objects; a log bucket "
    "for each bucket would cost extra and would have to be emptied.",
)
LOG_BUCKET: Final = Finding(
    "AwsSolutions-S1",
    "It holds the trail's own log for a week because a trail must have a bucket; it is not "
    "read, as the events arrive through EventBridge.",
)
OBJECTS: Final = "object_facts lets ingest read all objects of these buckets."
LOGINS: Final = (
    "Bulk requests name no index in their path, so the right is for all paths of one domain, whose "
    "fine-grained access control limits the role to an index. Each instance of a function has its "
    "own client id, which ends in random digits."
)
JOBS: Final = (
    "A job reads whole buckets: the configured ones, or all if the configuration allows that. In "
    "the pipeline's bucket it reads its own folders. Glue chooses its log streams. Metrics, "
    "network interfaces and Lake Formation's GetDataAccess support no resources."
)
DYNAMIC_TARGETS: Final = (
    "Queues, secrets and alarms of dynamic targets are granted by the stack's own prefix. Lambda's "
    "event source mappings have no names; only those of the stack's own functions may be created "
    "and removed."
)
GATEWAY: Final = (
    "Users and buckets are added and removed without a deploy, so their names are not known in "
    "advance. Listing buckets supports no resource."
)


def accept(construct: IConstruct, *findings: Finding) -> None:
    """Accept the findings on a construct."""
    for finding in findings:
        acknowledgment = Acknowledgment(id=finding.id, reason=finding.reason)
        Validations.of(construct).acknowledge(acknowledgment)


def accept_wildcards(role: IConstruct, resources: Iterable[str], reason: str) -> None:
    """Accept that a role or policy names resources by a `*`; skip resources without one."""
    for resource in resources:
        if "*" in (pattern := _pattern(Stack.of(role).resolve(resource))):
            accept(role, Finding(_WILDCARD.format(pattern), reason))


def _pattern(resolved: Any) -> str:
    """Return a resource as cdk-nag's findings show it: values of the deploy in angle brackets."""
    if isinstance(resolved, str):
        return resolved
    (function, argument) = next(iter(resolved.items()))
    if function == "Fn::Join":
        return "".join(_pattern(part) for part in argument[1])
    return f"<{argument if function == 'Ref' else '.'.join(argument)}>"
