"""What a policy lets a service do: clear for the template's own statements, else unclear."""

import json
from typing import Any

import pytest

from bucketcast.notifications.policy import Caller, allows
from tests.unit.moto_aws import ACCOUNT, INGRESS_ARN

S3 = Caller("s3.amazonaws.com", "arn:aws:s3:::*", ACCOUNT)
OWN: dict[str, Any] = {
    "Effect": "Allow",
    "Principal": {"Service": S3.service},
    "Action": "sqs:SendMessage",
    "Resource": INGRESS_ARN,
}
SOURCE, OTHERS = {"aws:SourceArn": S3.sources}, {"aws:SourceAccount": ["999999999999"]}
EVERYBODY = {"Principal": {"AWS": "*"}, "Action": "sqs:*"}
NO_TLS = {"Condition": {"Bool": {"aws:SecureTransport": "false"}}}


@pytest.mark.parametrize(
    ("change", "answer"),
    [
        ({"Condition": {"ArnLike": SOURCE, "StringEquals": {"AWS:SourceAccount": ACCOUNT}}}, True),
        ({**EVERYBODY, "Condition": {"ArnLike": SOURCE}}, True),
        ({"Principal": {"Service": "sns.amazonaws.com"}}, False),
        ({"Action": "sqs:Get*"}, False),
        ({"Resource": f"{INGRESS_ARN}-dead"}, None),
        ({"Condition": {"ArnNotLike": SOURCE}}, None),
        ({"Condition": {"ArnLike": {"aws:SourceArn": "arn:aws:s3:::other"}}}, None),
        ({"Condition": {"StringEquals": OTHERS}}, None),
        ({"Condition": {"ArnLike": SOURCE, "StringEquals": OTHERS}}, None),
        ({"Condition": {"ArnLike": {**SOURCE, "x": ""}}}, None),
        ({"Action": None, "NotAction": "sqs:Get*"}, None),
        ({"Principal": None, "NotPrincipal": {"AWS": ACCOUNT}}, None),
    ],
)
def test_what_the_template_does_not_write_is_unclear(
    change: dict[str, Any], *, answer: bool | None
) -> None:
    statement = {key: value for key, value in {**OWN, **change}.items() if value}
    denied = {"Effect": "Deny", **EVERYBODY, "Resource": INGRESS_ARN}
    for written, right in (
        (statement, answer),  # a single one needs no list
        ([statement, {**denied, **NO_TLS}], answer),
        ([statement, denied], None),
        ([], False),
    ):
        text = json.dumps({"Statement": written})
        assert allows(text, S3, "sqs:SendMessage", INGRESS_ARN) is right
