"""DynamoDB tables of the stack: on demand, with point-in-time recovery."""

from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from bucketcast_cdk.context import Context


def make(
    scope: Construct,
    construct_id: str,
    context: Context,
    *,
    key: str,
    sort_key: str,
    expires: str,
) -> dynamodb.Table:
    """Make a table with text keys, whose items DynamoDB deletes after the time in `expires`.

    It is not protected from deletion, or its creation could not be rolled back. If it is deleted by
    hand, DynamoDB keeps a backup for 35 days, as it does with recovery on.
    """
    return dynamodb.Table(
        scope,
        construct_id,
        partition_key=dynamodb.Attribute(name=key, type=dynamodb.AttributeType.STRING),
        sort_key=dynamodb.Attribute(name=sort_key, type=dynamodb.AttributeType.STRING),
        time_to_live_attribute=expires,
        billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
        encryption=dynamodb.TableEncryption.AWS_MANAGED,
        point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
            point_in_time_recovery_enabled=True
        ),
        removal_policy=context.removal_policy,
    )
