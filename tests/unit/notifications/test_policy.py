"""What a policy lets a service do: clear for the template's own statements, else unclear."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bucketcast.notifications.policy import Caller, allows
from tests.infra import resource_policies as iam
from tests.unit.moto_aws import ACCOUNT, INGRESS_ARN

S3 = Caller("s3.amazonaws.com", "arn:aws:s3:::*", ACCOUNT)
CONTEXT = {
    "aws:SourceAccount": ACCOUNT,
    "aws:SourceArn": "arn:aws:s3:::uploads",
    "aws:SecureTransport": "true",
}
OWN: dict[str, Any] = {
    "Effect": "Allow",
    "Principal": {"Service": S3.service},
    "Action": "sqs:SendMessage",
    "Resource": INGRESS_ARN,
    "Condition": {
        "StringEquals": {"aws:SourceAccount": ACCOUNT},
        "ArnLike": {"aws:SourceArn": "arn:aws:s3:::*"},
    },
}
_ARNS = [S3.sources, "arn:aws:s3:::uploads", "arn:aws:s3:*", "arn:aws:s3:::other"]
_values = {
    "aws:SourceAccount": st.sampled_from([ACCOUNT, "999999999999", "*", [ACCOUNT, "9"]]),
    "aws:SourceArn": st.sampled_from([*_ARNS, _ARNS[2:]]),
    "aws:SecureTransport": st.sampled_from(["true", "false"]),
}
_statements = st.fixed_dictionaries(
    {
        "Effect": st.sampled_from(["Allow", "Allow", "Deny"]),
        "Principal": st.sampled_from(
            ["*", {"AWS": "*"}, OWN["Principal"], {"Service": ["sns.amazonaws.com"]}]
        ),
        "Action": st.sampled_from(["sqs:SendMessage", "SQS:Send*", "*", ["sqs:GetQueueUrl"]]),
        "Resource": st.sampled_from([INGRESS_ARN, "*", [f"{INGRESS_ARN}-dead"], "arn:aws:sqs:*"]),
    },
    optional={
        "Condition": st.dictionaries(
            st.sampled_from(["StringEquals", "ArnLike", "StringLike", "Bool"]),
            st.fixed_dictionaries({}, optional=_values),
            max_size=2,
        )
    },
)


@given(policy=st.lists(_statements, max_size=3))
def test_a_clear_answer_is_iams(policy: list[Any]) -> None:
    request = iam.Request(S3.service, "sqs:SendMessage", INGRESS_ARN, CONTEXT)
    answer = allows(json.dumps({"Statement": policy}), S3, "sqs:SendMessage", INGRESS_ARN)
    assert answer in (None, iam.allows(policy, request))


@pytest.mark.parametrize(
    ("change", "answer"),
    [
        ({}, True),
        ({"Principal": "*"}, True),
        ({"Principal": {"Service": "sns.amazonaws.com"}}, False),
        ({"Action": "sqs:Get*"}, False),
        ({"Effect": "Deny"}, None),
        ({"Resource": f"{INGRESS_ARN}-dead"}, None),
        ({"Condition": {"ArnNotLike": {"aws:SourceArn": _ARNS[1]}}}, None),
        ({"Condition": {"ArnLike": {"aws:SourceArn": S3.sources}, "Null": {"x": "true"}}}, None),
        ({"Condition": {"StringEquals": {"aws:SourceAccount": "999999999999"}}}, None),
        ({"NotAction": "sqs:Get*"}, None),
        ({"NotPrincipal": {"AWS": ACCOUNT}}, None),
    ],
)
def test_what_the_template_does_not_write_is_unclear(
    change: dict[str, Any],
    answer: bool | None,  # noqa: FBT001
) -> None:
    left_out = {key.removeprefix("Not") for key in change if key.startswith("Not")}
    statement = {key: value for key, value in OWN.items() if key not in left_out} | change
    for written in (statement, [statement]):  # a single one needs no list
        text = json.dumps({"Statement": written})
        assert allows(text, S3, "sqs:SendMessage", INGRESS_ARN) is answer
    assert allows("", S3, "sqs:SendMessage", INGRESS_ARN) is False
