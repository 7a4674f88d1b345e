"""The check of the end-to-end run's calls allows what IAM would, and no more."""

from typing import Any

import pytest

from tests.e2e.iam import Account, Call, Statement, refused

ACCOUNT = Account("111122223333", "eu-west-1")
QUEUE = "arn:aws:sqs:eu-west-1:111122223333:Bucketcast-webhook-a"
TABLE = "arn:aws:dynamodb:eu-west-1:111122223333:table/state"
URL = "https://sqs.eu-west-1.amazonaws.com/111122223333/Bucketcast-webhook-"
STATEMENTS: list[Statement] = [
    {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": QUEUE},
    {"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": ["arn:aws:s3:::uploads/*"]},
    {"Effect": "Deny", "Action": "s3:*", "Resource": "arn:aws:s3:::uploads/secret/*"},
    {
        "Effect": "Allow",
        "Action": ["dynamodb:PutItem", "dynamodb:UpdateItem"],
        "Resource": TABLE,
        "Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["#attachments"]}},
    },
    {
        "Effect": "Allow",
        "Action": "secretsmanager:GetSecretValue",
        "Resource": "arn:aws:secretsmanager:eu-west-1:111122223333:secret:login-??????",
    },
]


def item(key: str) -> dict[str, Any]:
    return {"TableName": "state", "Item": {"partition": {"S": key}, "key": {"S": "x"}}}


@pytest.mark.parametrize(
    ("service", "operation", "parameters", "expected"),
    [
        ("sqs", "SendMessageBatch", {"QueueUrl": URL + "a"}, ""),
        ("sqs", "SendMessage", {"QueueUrl": URL + "b"}, "sqs:SendMessage on arn:aws:sqs"),
        ("s3", "HeadObject", {"Bucket": "uploads", "Key": "a/b"}, ""),
        ("s3", "HeadObject", {"Bucket": "uploads", "Key": "secret/a"}, "s3:GetObject"),
        (
            "s3",
            "GetObject",
            {"Bucket": "uploads", "Key": "a", "VersionId": "1"},
            "s3:GetObjectVersion",
        ),
        (
            "s3",
            "DeleteObjects",
            {"Bucket": "uploads", "Delete": {"Objects": [{"Key": "a"}]}},
            "s3:DeleteObject on arn:aws:s3:::uploads/a",
        ),
        (
            "s3",
            "GetBucketInventoryConfiguration",
            {"Bucket": "uploads", "Id": "all"},
            "s3:GetInventoryConfiguration on arn:aws:s3:::uploads",
        ),
        ("s3", "ListParts", {"Bucket": "uploads", "Key": "a"}, "s3:ListMultipartUploadParts"),
        ("s3", "ListObjectVersions", {"Bucket": "uploads"}, "s3:ListBucketVersions"),
        ("dynamodb", "PutItem", item("#attachments"), ""),
        ("dynamodb", "PutItem", item("uploads"), "dynamodb:PutItem on arn:aws:dynamodb"),
        (
            "dynamodb",
            "TransactWriteItems",
            {"TransactItems": [{"Put": item("#attachments")}, {"Delete": item("#attachments")}]},
            "dynamodb:DeleteItem",
        ),
        ("secretsmanager", "GetSecretValue", {"SecretId": "login"}, ""),
        ("kms", "Decrypt", {}, "kms:Decrypt on anything"),
    ],
)
def test_call_is_checked_against_its_role(
    service: str, operation: str, parameters: dict[str, Any], expected: str
) -> None:
    call = Call("ours", service, operation, parameters)
    found = refused([call, call], {"ours": STATEMENTS}, ACCOUNT)
    assert len(found) == bool(expected)
    assert not expected or expected in found[0]
