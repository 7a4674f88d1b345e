"""The right to the breakers of targets, which stand in the rules' table."""

from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam

from bucketcast.aws.breakers import PARTITION


def right_to_use(table: dynamodb.ITable) -> iam.PolicyStatement:
    """Of the rules' table only the breakers: to read, write and remove them."""
    return iam.PolicyStatement(
        actions=["dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:UpdateItem"],
        resources=[table.table_arn],
        conditions={"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [PARTITION]}},
    )
