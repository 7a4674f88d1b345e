"""The findings of cdk-nag's AwsSolutions pack that stand, each with its reason."""

import re
from collections.abc import Sequence
from typing import Any

from aws_cdk import Acknowledgment, Names, Stack, Validations
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from constructs import IConstruct


def accept_runtime(function: lambda_.Function) -> None:
    _accept(
        function,
        "AwsSolutions-L1",
        "The Python version is chosen by the wheels of the clients, and the Glue jobs run on the "
        "same one; it is supported by Lambda and moved forward on purpose, not by a default.",
    )


def accept_network_interfaces(role: IConstruct) -> None:
    _accept(
        role,
        "AwsSolutions-IAM5[Resource::*]",
        "Lambda makes and removes network interfaces in the VPC with the function's role; their "
        "names are not known before, and EC2's describing actions take no resource at all.",
    )


def accept_tracing(role: IConstruct) -> None:
    _accept(
        role,
        "AwsSolutions-IAM5[Resource::*]",
        "X-Ray's two actions that write take no resource.",
    )


def accept_reading_objects(role: IConstruct, resources: Sequence[str]) -> None:
    for name in resources:
        shown = re.sub(r"\$\{Token\[AWS\.Partition\.\d+\]\}", "<AWS::Partition>", name)
        if "*" in shown:
            _accept(
                role,
                f"AwsSolutions-IAM5[Resource::{shown}]",
                "object_facts lets ingest look at all objects of these buckets.",
            )


def accept_login_wildcards(role: IConstruct, resource: str) -> None:
    _accept(
        role,
        f"AwsSolutions-IAM5[Resource::{resource}]",
        "Bulk requests name no index in their path, so the right is for all paths of one domain, "
        "whose fine-grained access control says what its role may do with which index. Each "
        "instance of a function has a client id of its own, which ends in random digits.",
    )


def accept_counting_messages(policy: IConstruct, resource: str) -> None:
    _accept(
        policy,
        f"AwsSolutions-IAM5[Resource::{_shown(Stack.of(policy).resolve(resource))}]",
        "Before a target is removed its queue is asked how many messages it holds. It is in no "
        "template any more then, so the right is to ask the queues whose names begin as ours do.",
    )


def accept_policy_elsewhere(queue: IConstruct) -> None:
    _accept(
        queue,
        "AwsSolutions-SQS4",
        "Its policy, which refuses plain HTTP, is in a nested stack, and the check looks here.",
    )


def accept_dead_letters_of_services(queue: IConstruct) -> None:
    _accept(
        queue,
        "AwsSolutions-SQS3",
        "It is a dead-letter queue itself, of services that are not queues; no function reads it.",
    )


def accept_no_dead_letters(queue: IConstruct) -> None:
    _accept(
        queue,
        "AwsSolutions-SQS3",
        "It is for topics that are not persistent: an event has one attempt, and what fails is "
        "counted as lost, as their owners chose.",
    )


def accept_plain_glue(job: IConstruct) -> None:
    for finding in ("AwsSolutions-GL1", "AwsSolutions-GL3"):
        _accept(
            job,
            finding,
            "CloudWatch encrypts its logs, which hold counts and names but no object's content; "
            "bookmarks are off. A key of one's own would be one more thing to pay for.",
        )


def accept_availability_zone(connection: IConstruct) -> None:
    _accept(
        connection,
        "CloudFormation-Validate::W3010",
        "It is the subnet's, both are the configuration's, and Glue wants both.",
    )


def accept_wildcards(role: IConstruct, resources: Sequence[str]) -> None:
    for resource in resources:
        if "*" in (shown := _shown_in(Stack.of(role), resource)):
            _accept(
                role,
                f"AwsSolutions-IAM5[Resource::{shown}]",
                "A job reads whole buckets, those of the configuration or all where it says so, "
                "and of the pipeline's bucket its own folders; it writes to whichever of Glue's "
                "log streams it gets. Metrics, network interfaces and Lake Formation's leases "
                "take no resource that could be named.",
            )


def accept_names_made_later(role: IConstruct, resources: Sequence[str]) -> None:
    for resource in resources:
        _accept(
            role,
            f"AwsSolutions-IAM5[Resource::{_shown(Stack.of(role).resolve(resource))}]",
            "Queues, secrets and alarms of targets made at run time are known by how their names "
            "begin, which is the stack's own; Lambda's mappings have no names, and only those of "
            "the stack's own functions may be made and removed.",
        )


def accept_control(role: IConstruct, resources: Sequence[str]) -> None:
    for resource in resources:
        shown = _shown(Stack.of(role).resolve(resource))
        _accept(
            role,
            f"AwsSolutions-IAM5[Resource::{shown}]",
            "Users and attached buckets come and go without a deploy: their names are not known "
            "before. Listing one's buckets takes no resource.",
        )


def _shown_in(stack: Stack, resource: str) -> str:
    """A resource as findings in a stack show it: in a nested one, what comes from the first."""
    shown = _shown(stack.resolve(resource))
    first = stack.nested_stack_parent
    named = re.search(r"<(\w+)\.(\w+)>", shown)
    if first is None or named is None:
        return shown
    for each in first.node.find_all():
        if isinstance(each, s3.CfnBucket) and stack.resolve(each.logical_id) == named[1]:
            name = f"<referenceto{Names.node_unique_id(each.node)}{named[2]}>"
            return shown.replace(named[0], name)
    return shown


def _shown(resolved: Any) -> str:
    """Return a resource as cdk-nag's findings show it: what only the deploy knows in angles."""
    if isinstance(resolved, str):
        return resolved
    (function, argument) = next(iter(resolved.items()))
    if function == "Fn::Join":
        return "".join(_shown(part) for part in argument[1])
    return f"<{argument if function == 'Ref' else '.'.join(argument)}>"


def accept_no_access_log(bucket: s3.Bucket) -> None:
    _accept(
        bucket,
        "AwsSolutions-S1",
        "Who read what is answered by CloudTrail's data events, which access_events switches on; a "
        "log bucket beside each bucket would be one more thing to pay for and to empty.",
    )


def accept_log_bucket(bucket: s3.Bucket) -> None:
    _accept(
        bucket,
        "AwsSolutions-S1",
        "It holds the trail's own log for a week because a trail must have a bucket; nobody reads "
        "it, the events come by EventBridge.",
    )


def _accept(construct: IConstruct, finding: str, reason: str) -> None:
    Validations.of(construct).acknowledge(Acknowledgment(id=finding, reason=reason))
