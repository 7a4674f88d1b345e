"""A template's resources with the values that CloudFormation would put in: names and ARNs."""

from collections.abc import Mapping
from typing import Any, Final

ACCOUNT: Final = "111122223333"
REGION: Final = "eu-central-1"
_PSEUDO: Final = {
    "AWS::Partition": "aws",
    "AWS::Region": REGION,
    "AWS::AccountId": ACCOUNT,
    "AWS::URLSuffix": "amazonaws.com",
}
_HERE: Final = f"{REGION}:{ACCOUNT}"
_ARNS: Final = {
    "AWS::SQS::Queue": (f"arn:aws:sqs:{_HERE}:", "QueueName"),
    "AWS::S3::Bucket": ("arn:aws:s3:::", "BucketName"),
    "AWS::Lambda::Function": (f"arn:aws:lambda:{_HERE}:function:", "FunctionName"),
    "AWS::CloudTrail::Trail": (f"arn:aws:cloudtrail:{_HERE}:trail/", "TrailName"),
    "AWS::DynamoDB::Table": (f"arn:aws:dynamodb:{_HERE}:table/", "TableName"),
    "AWS::SNS::Topic": (f"arn:aws:sns:{_HERE}:", "TopicName"),
    "AWS::IAM::Role": (f"arn:aws:iam::{ACCOUNT}:role/", "RoleName"),
    "AWS::Glue::Job": (f"arn:aws:glue:{_HERE}:job/", "Name"),
    "AWS::Logs::LogGroup": (f"arn:aws:logs:{_HERE}:log-group:", "LogGroupName"),
}
"""How the ARNs of a type begin, and the property with the name: see each type's reference."""


class Resolved:
    """Resources by logical id, without functions of CloudFormation."""

    def __init__(self, template: Mapping[str, Any]) -> None:
        self._raw = template["Resources"]
        self.resources: dict[str, Any] = {key: self._value(each) for key, each in self._raw.items()}

    def of_type(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return the properties of the resources of a type, by logical id."""
        return {
            key: each.get("Properties", {})
            for key, each in self.resources.items()
            if each["Type"] == kind
        }

    def arn(self, logical_id: str) -> str:
        """Return a resource's ARN; for a type without one here its id stands."""
        kind = self._raw[logical_id]["Type"]
        about = self._raw[logical_id].get("Properties", {})
        if kind == "AWS::Events::Rule":
            return f"arn:aws:events:{_HERE}:rule/{about['Name']}"
        if kind not in _ARNS:
            return logical_id
        begin, key = _ARNS[kind]
        return begin + str(about.get(key, logical_id))

    def _value(self, found: Any) -> Any:
        if isinstance(found, list):
            return [self._value(each) for each in found]
        if not isinstance(found, dict):
            return found
        name = next(iter(found), "")
        if name == "Ref" or name.startswith("Fn::"):
            return self._called(name, found[name])
        return {key: self._value(each) for key, each in found.items()}

    def _called(self, function: str, given: Any) -> str:
        match function:
            case "Ref":
                return _PSEUDO.get(given) or self._ref(given)
            case "Fn::GetAtt" if given[1] == "Arn":
                return self.arn(given[0])
            case "Fn::Join":
                return str(given[0]).join(map(str, self._value(given[1])))
        return str(given)  # of no matter to a policy

    def _ref(self, logical_id: str) -> str:
        if logical_id not in self._raw:
            return logical_id
        kind = self._raw[logical_id]["Type"]
        if kind not in _ARNS:
            return logical_id
        return self.arn(logical_id).removeprefix(_ARNS[kind][0])
