"""The customer's key for all data of the stack: queues, tables, logs, variables.

The pipeline encrypts its bucket by it. The alarms' topic has a key of its own, which CloudWatch may
use; buckets that the deploy makes for its user, and CloudTrail's log, are encrypted by S3.
"""

from typing import Final

from aws_cdk import Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from constructs import Construct, IConstruct

from bucketcast_cdk.outputs import output

_USE: Final = (
    "kms:Decrypt",
    "kms:DescribeKey",
    "kms:Encrypt",
    "kms:GenerateDataKey",
    "kms:GenerateDataKeyWithoutPlaintext",
    "kms:ReEncryptFrom",
    "kms:ReEncryptTo",
)
"""The actions that the services need of a role: DynamoDB needs most."""
_SERVICES: Final = ("dynamodb", "lambda", "s3", "sqs")
"""What encrypts for a role; CloudWatch writes its logs by a right of its own."""


def encrypt(scope: Construct, key: str) -> None:
    """Encrypt all resources in `scope` by a key, by its ARN, and let all roles use it; "" for none.

    The key's own policy has to let the account's IAM decide, and services use the key, as
    `docs/operations.md` has it.
    """
    if not key:
        return
    stack = Stack.of(scope)
    through = [f"{service}.{stack.region}.{stack.url_suffix}" for service in _SERVICES]
    use = iam.PolicyStatement(
        actions=list(_USE),
        resources=[key],
        conditions={"StringEquals": {"kms:ViaService": through}},
    )
    for node in scope.node.find_all():
        _encrypt(node, key, use)
    output(scope, "KmsKey", key)


def _encrypt(node: IConstruct, key: str, use: iam.PolicyStatement) -> None:
    match node:
        case sqs.CfnQueue():
            node.sqs_managed_sse_enabled = None
            node.kms_master_key_id = key
        case dynamodb.CfnTable():
            node.sse_specification = dynamodb.CfnTable.SSESpecificationProperty(
                sse_enabled=True, sse_type="KMS", kms_master_key_id=key
            )
        case logs.CfnLogGroup():
            node.kms_key_id = key
        case lambda_.CfnFunction():
            node.kms_key_arn = key
        case iam.CfnRole():
            # Part of the role, so that no function is called before its role may use the key.
            node.policies = [
                iam.CfnRole.PolicyProperty(
                    policy_name="CustomerKey",
                    policy_document=iam.PolicyDocument(statements=[use]),
                )
            ]
