"""The right to add to the counters of events, which stand in the rules' table."""

from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam

from bucketcast.aws.counters import PARTITION


def right_to_add(table: dynamodb.ITable) -> iam.PolicyStatement:
    """Of the rules' table only the counters, and only to add to them."""
    return iam.PolicyStatement(
        actions=["dynamodb:UpdateItem"],
        resources=[table.table_arn],
        conditions={"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [PARTITION]}},
    )
