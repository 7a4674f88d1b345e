"""Whether a role's policies let a function or a Glue job make a call, as IAM would judge it.

Covered are actions, resources with `*` and `?`, explicit denials, and the condition on the leading
keys of a table; other conditions count as met. Of an operation that is not known here only the
action is judged, under the operation's own name. Policies of the resources themselves are
judged by `tests/infra/test_resource_policies.py`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from tests import rights
from tests.infra.resource_policies import like, listed

Statement = Mapping[str, Any]
ANYWHERE = ""
_LEADING = "dynamodb:leadingkeys"

_ACTIONS = {
    ("s3", "HeadObject"): "GetObject",
    ("s3", "HeadBucket"): "ListBucket",
    ("s3", "ListBuckets"): "ListAllMyBuckets",
    ("s3", "ListObjectsV2"): "ListBucket",
    ("s3", "ListObjectVersions"): "ListBucketVersions",
    ("s3", "ListMultipartUploads"): "ListBucketMultipartUploads",
    ("s3", "ListParts"): "ListMultipartUploadParts",
    ("s3", "GetBucketInventoryConfiguration"): "GetInventoryConfiguration",
    ("s3", "GetBucketNotificationConfiguration"): "GetBucketNotification",
    ("s3", "PutBucketNotificationConfiguration"): "PutBucketNotification",
    ("lambda", "Invoke"): "InvokeFunction",
}
_VERSIONED = ("GetObject", "GetObjectTagging", "DeleteObject")


class Call(NamedTuple):
    """One call of a function or job: service and operation as botocore names them."""

    function: str
    service: str
    operation: str
    parameters: Mapping[str, Any]


class Need(NamedTuple):
    """One right that a call needs; `keys` are the leading keys where a table is asked."""

    action: str
    resource: str
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Account:
    """Where the calls were made."""

    account: str
    region: str

    def queue(self, name: str) -> str:
        return f"arn:aws:sqs:{self.region}:{self.account}:{name}"

    def needs(self, call: Call) -> Iterator[Need]:
        """The rights that a call needs."""
        if call.operation == "TransactWriteItems":
            for item in call.parameters["TransactItems"]:
                ((kind, inner),) = item.items()
                name = "ConditionCheckItem" if kind == "ConditionCheck" else f"{kind}Item"
                yield from self.needs(call._replace(operation=name, parameters=inner))
            return
        if call.operation == "DeleteObjects":
            for each in call.parameters["Delete"]["Objects"]:
                parameters = {"Bucket": call.parameters["Bucket"], **each}
                yield from self.needs(
                    call._replace(operation="DeleteObject", parameters=parameters)
                )
            return
        name = _ACTIONS.get((call.service, call.operation), call.operation)
        if call.service == "sqs":
            name = name.removesuffix("Batch")
        if call.service == "s3" and name in _VERSIONED and "VersionId" in call.parameters:
            name = name.replace("Object", "ObjectVersion", 1)
        keys = _keys(call.parameters) if call.service == "dynamodb" else ()
        for resource in self._resources(call):
            yield Need(f"{call.service}:{name}", resource, keys)

    def _resources(self, call: Call) -> list[str]:
        params = call.parameters
        here = f"arn:aws:{call.service}:{self.region}:{self.account}"
        match call.service:
            case "s3" if "Bucket" in params:
                key = f"/{params['Key']}" if "Key" in params else ""
                found = [f"arn:aws:s3:::{params['Bucket']}{key}"]
            case "dynamodb":
                named = (
                    [params["TableName"]] if "TableName" in params else [*params["RequestItems"]]
                )
                found = [f"{here}:table/{name}" for name in named]
            case "sqs" if "QueueUrl" in params or "QueueName" in params:
                found = [
                    f"{here}:{params.get('QueueName') or params['QueueUrl'].rpartition('/')[2]}"
                ]
            case "secretsmanager" if "SecretId" in params:
                name = params["SecretId"]
                found = [name if name.startswith("arn:") else f"{here}:secret:{name}-a1B2c3"]
            case "cloudformation" if "StackName" in params:
                name = params["StackName"]
                found = [name if name.startswith("arn:") else f"{here}:stack/{name}/a1-b2"]
            case "glue" if "JobName" in params:
                found = [f"{here}:job/{params['JobName']}"]
            case _:
                found = [ANYWHERE]
        return found


def allowed(need: Need, statements: Sequence[Statement]) -> bool:
    """Whether one of the statements allows it, and none denies it."""
    effects = {each["Effect"] for each in statements if _matches(need, each)}
    return effects == {"Allow"}


def refused(
    calls: Sequence[Call], roles: Mapping[str, Sequence[Statement]], account: Account
) -> list[str]:
    """The calls that a role does not let its function make, each once and in words."""
    wrong = {
        f"{call.function} may not {need.action} on {need.resource or 'anything'}"
        + (f" with the keys {', '.join(need.keys)}" if need.keys else "")
        for call in calls
        if call.function in roles
        for need in account.needs(call)
        if not allowed(need, roles[call.function])
    }
    return sorted(wrong)


def unused(
    calls: Sequence[Call], roles: Mapping[str, Sequence[Statement]], account: Account
) -> list[str]:
    """Return the rights that nothing used and nothing explains, in words."""
    used = {
        (rights.owner_of(call.function), need.action.lower())
        for call in calls
        if call.function in roles
        for need in account.needs(call)
    }
    granted = {
        (rights.owner_of(name), action)
        for name, statements in roles.items()
        for each in statements
        for action in listed(each["Action"])
    }
    return sorted(
        f"{owner} never uses {action}"
        for owner, action in granted
        if (owner, action.lower()) not in used and not rights.reason(owner, action)
    )


def recorded(folder: Path) -> list[Call]:
    """What the functions wrote down, without the line that one of them may be writing now."""
    lines = [
        line
        for file in folder.glob("*.jsonl")
        for line in file.read_text(encoding="utf-8").splitlines(keepends=True)
    ]
    return [Call(*json.loads(line)) for line in lines if line.endswith("\n")]


def roles_of(functions: Any, glue: Any, iam: Any, prefix: str) -> dict[str, list[Statement]]:
    """The statements of the role of each function and job, by their names, as they are deployed."""
    roles = {
        each["FunctionName"]: each["Role"]
        for page in functions.get_paginator("list_functions").paginate()
        for each in page["Functions"]
    }
    for page in glue.get_paginator("get_jobs").paginate():
        roles |= {each["Name"]: each["Role"] for each in page["Jobs"]}
    return {
        name: list(_statements(iam, role.rpartition("/")[2]))
        for name, role in roles.items()
        if name.startswith(prefix)
    }


def _statements(iam: Any, role: str) -> Iterator[Statement]:
    documents = [
        iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
        for name in iam.list_role_policies(RoleName=role)["PolicyNames"]
    ]
    for each in iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]:
        arn = each["PolicyArn"]
        version = iam.get_policy(PolicyArn=arn)["Policy"]["DefaultVersionId"]
        found = iam.get_policy_version(PolicyArn=arn, VersionId=version)
        documents.append(found["PolicyVersion"]["Document"])
    for document in documents:
        statements = document["Statement"]
        yield from statements if isinstance(statements, list) else [statements]


def _matches(need: Need, statement: Statement) -> bool:
    return (
        any(fnmatchcase(need.action.lower(), one.lower()) for one in listed(statement["Action"]))
        and (
            need.resource == ANYWHERE
            or any(like(need.resource, one) for one in listed(statement["Resource"]))
        )
        and all(_holds(need, test) for test in statement.get("Condition", {}).items())
    )


def _holds(need: Need, test: tuple[str, Mapping[str, Any]]) -> bool:
    operator, pairs = test
    if not operator.startswith("ForAllValues:"):
        return True
    wanted = [
        key for name, keys in pairs.items() if name.lower() == _LEADING for key in listed(keys)
    ]
    is_leading = any(name.lower() == _LEADING for name in pairs)
    return not is_leading or all(any(like(key, one) for one in wanted) for key in need.keys)


def _keys(parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """The partition keys that a call names: of one item, or of many."""
    items = [parameters[name] for name in ("Key", "Item") if name in parameters]
    for request in parameters.get("RequestItems", {}).values():
        items += request["Keys"] if isinstance(request, dict) else []
    return tuple(sorted({item["partition"]["S"] for item in items if "partition" in item}))
