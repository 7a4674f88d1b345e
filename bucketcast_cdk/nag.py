"""The findings of cdk-nag's AwsSolutions pack that are accepted, each with its reason."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from aws_cdk import Acknowledgment, Stack, Validations
from constructs import IConstruct

_WILDCARD: Final = "AwsSolutions-IAM5[Resource::{}]"


class Finding(NamedTuple):
    """A rule, by its id, and why it may be broken."""

    id: str
    reason: str


DYNAMIC: Final = Finding(
    "AwsSolutions-L1",
    "The Python version is chosen by the wheels of the clients, and the Glue jobs run on the "
    "same one; it is supported by Lambda and moved forward on purpose, not by a default.",
)
NETWORK_INTERFACES: Final = Finding(
    _WILDCARD.format("*"),
    "Lambda makes and removes network interfaces in the VPC with the function's role; their "
    "names are not known before, and EC2's describing actions take no resource at all.",
)
IS_DEAD_LETTER_QUEUE: Final = Finding(
    "AwsSolutions-SQS3",
    "It is a dead-letter queue itself, of services that are not queues; no function reads it.",
)
NO_DEAD_LETTERS: Final = Finding(
    "AwsSolutions-SQS3",
    "It is for topics that are not persistent: an event has one attempt, and what fails is "
    "counted as lost, as their owners chose.",
)
_NO_GLUE_KEY: Final = (
    "CloudWatch encrypts its logs, which hold counts and names but no object's content; "
    "bookmarks are off. A key of one's own would be one more thing to pay for."
)
GLUE_LOGS: Final = Finding("AwsSolutions-GL1", _NO_GLUE_KEY)
GLUE_BOOKMARKS: Final = Finding("AwsSolutions-GL3", _NO_GLUE_KEY)
AVAILABILITY_ZONE: Final = Finding(
    "CloudFormation-Validate::W3010",
    "It is the subnet's, both are the configuration's, and Glue wants both.",
)
NO_ACCESS_LOG: Final = Finding(
    "AwsSolutions-S1",
    "Who read what is answered by CloudTrail's data events, which access_events switches on; a "
    "log bucket beside each bucket would be one more thing to pay for and to empty.",
)
LOG_BUCKET: Final = Finding(
    "AwsSolutions-S1",
    "It holds the trail's own log for a week because a trail must have a bucket; nobody reads "
    "it, the events come by EventBridge.",
)
OBJECTS: Final = "object_facts lets ingest read all objects of these buckets."
LOGINS: Final = (
    "Bulk requests name no index in their path, so the right is for all paths of one domain, "
    "whose fine-grained access control says what its role may do with which index. Each "
    "instance of a function has a client id of its own, which ends in random digits."
)
REMOVED_QUEUES: Final = (
    "Before a target is removed its queue is asked how many messages it holds. It is in no "
    "template any more then, so the right is to ask the queues whose names begin as ours do."
)
JOBS: Final = (
    "A job reads whole buckets, those of the configuration or all where it says so, and of the "
    "pipeline's bucket its own folders; it writes to whichever of Glue's log streams it gets. "
    "Metrics, network interfaces and Lake Formation's leases take no resource that could be named."
)
MADE_LATER: Final = (
    "Queues, secrets and alarms of targets made at run time are known by how their names begin, "
    "which is the stack's own; Lambda's mappings have no names, and only those of the stack's own "
    "functions may be made and removed."
)
GATEWAY: Final = (
    "Users and attached buckets come and go without a deploy: their names are not known before. "
    "Listing one's buckets takes no resource."
)


def accept(construct: IConstruct, *findings: Finding) -> None:
    """Accept the findings on a construct."""
    for finding in findings:
        acknowledgment = Acknowledgment(id=finding.id, reason=finding.reason)
        Validations.of(construct).acknowledge(acknowledgment)


def accept_wildcards(role: IConstruct, resources: Iterable[str], reason: str) -> None:
    """Accept that a role or policy names resources by a `*`; others are no finding."""
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
