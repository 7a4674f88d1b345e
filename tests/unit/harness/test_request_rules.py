"""The check of the end-to-end run's calls finds what AWS would refuse or never act on."""

import re
from typing import Any

import pytest

from tests.e2e.iam import Call
from tests.e2e.request_rules import PUT, URL, faults
from tests.rights import ROOT

KEY = {"partition": {"S": "a"}, "key": {"S": "b"}}
PUTS, DELETES = "s3:ObjectCreated:*", "s3:ObjectRemoved:Delete"


def put(*entries: tuple[str, str, str], name: str = "uploads") -> dict[str, Any]:
    """A bucket's notifications: the event, prefix and suffix of each entry."""
    queues = []
    for event, *ends in entries:
        rules = [
            {"Name": n, "Value": end} for n, end in zip(("Prefix", "Suffix"), ends, strict=True)
        ]
        entry = {
            "QueueArn": "ingress",
            "Events": [event],
            "Filter": {"Key": {"FilterRules": rules}},
        }
        queues.append(entry)
    both = {"QueueConfigurations": queues, "EventBridgeConfiguration": {}}
    return {"Bucket": name, "NotificationConfiguration": both}


def send(*bodies: str, **more: Any) -> dict[str, Any]:
    entries = [{"Id": str(at), "MessageBody": body, **more} for at, body in enumerate(bodies)]
    return {"QueueUrl": "http://sqs/ingress", "Entries": entries}


def told(*names: str, **value: str) -> dict[str, Any]:
    """A message with attributes."""
    text = {"DataType": "String", "StringValue": "text"} | value
    return send("a", MessageAttributes=dict.fromkeys(names, text))


def update(expression: str) -> dict[str, Any]:
    return {"UpdateExpression": expression, "ExpressionAttributeValues": {":one": {"N": "1"}}}


@pytest.mark.parametrize(
    ("call", "parameters", "expected"),
    [
        (f"s3:{PUT}", put((PUTS, "year%3D2026/a+b", ""), (DELETES, "", "")), ""),
        (f"s3:{PUT}", put((PUTS, "year=2026/", "")), "year=2026/ (Configuring event"),
        (f"s3:{PUT}", put((PUTS, "a", ""), ("s3:ObjectCreated:Put", "", "b")), "Configuring event"),
        (f"s3:{PUT}", put((PUTS, "a", "c"), (PUTS, "b", "c"), (PUTS, "a", "d")), ""),
        (f"s3:{PUT}", put(("s3:ObjectMade:*", "", "")), "allowed are s3:"),
        (f"s3:{PUT}", put(name="Up_loads"), "naming rules"),
        ("s3:HeadObject", {"Key": "é" * 513}, "Naming objects"),
        ("sqs:SendMessageBatch", send("x" * (1 << 20)), ""),
        ("sqs:SendMessageBatch", send("x" * (1 << 20), "x"), "SQS quotas"),
        ("sqs:SendMessageBatch", send("a\0"), "SQS quotas"),
        ("sqs:SendMessageBatch", send(*"abcdefghijk"), "SQS quotas"),
        ("sqs:SendMessageBatch", send(), "SQS quotas"),
        ("sqs:SendMessageBatch", send("a", Id="a.b"), "SQS quotas"),
        ("sqs:SendMessageBatch", send("a", MessageGroupId="!~"), ""),
        ("sqs:SendMessageBatch", send("a", MessageGroupId="a b"), "SQS quotas"),
        ("sqs:SendMessageBatch", send("a", MessageDeduplicationId="t" * 129), "SQS quotas"),
        ("sqs:SendMessageBatch", send("a", Id="i" * 81), "SQS quotas"),
        ("sqs:SendMessageBatch", send("a", "b", Id="same"), "SQS quotas"),
        ("sqs:SendMessageBatch", send("a", MessageGroupId="g" * 128), ""),
        ("sqs:SendMessageBatch", told(*"abcdefghij"), ""),
        ("sqs:SendMessageBatch", told("n" * 256), ""),
        ("sqs:SendMessageBatch", told("n" * 257), "SQS quotas"),
        ("sqs:SendMessageBatch", told(".a"), "SQS quotas"),
        ("sqs:SendMessageBatch", told("a", StringValue="a\0"), "SQS quotas"),
        ("sqs:SendMessageBatch", told(*"abcdefghijk"), "SQS quotas"),
        ("sqs:SendMessageBatch", told("AWS.a"), "SQS quotas"),
        ("sqs:SendMessageBatch", told("a", DataType="Text"), "SQS quotas"),
        ("sqs:SendMessageBatch", told("a", StringValue=""), "SQS quotas"),
        ("sqs:SendMessage", {"MessageBody": "a", "MessageGroupId": "a b"}, "SQS quotas"),
        ("sqs:CreateQueue", {"QueueName": "a.b"}, "SQS quotas"),
        ("dynamodb:UpdateItem", update("SET n = :one"), ""),
        ("dynamodb:UpdateItem", update("SET n = :two"), "Expressions"),
        ("dynamodb:PutItem", {"Item": KEY | {"t": {"S": "x" * 409_600}}}, "Quotas in DynamoDB"),
        ("dynamodb:TransactWriteItems", {"TransactItems": [{}] * 101}, "allowed are 1 to 100"),
        ("lambda:DeleteFunction", {"FunctionName": "no/name"}, "allowed is (arn"),
        (f"{URL}:PUT", {"Body": "x" * 4_718_592}, ""),
        (f"{URL}:PUT", {"Body": "x" * 4_718_593}, "Lambda quotas"),
        (f"{URL}:PUT", {"Body": "x" * 4_718_593, "ContentType": "application/xml"}, ""),
    ],
)
def test_a_request_is_checked_against_the_model_and_the_pages(
    call: str, parameters: dict[str, Any], expected: str
) -> None:
    service, operation = call.split(":")
    found = faults([Call("ours", service, operation, parameters)] * 2)
    assert bool(found) == bool(expected)
    assert expected in "".join(found)


def test_the_page_of_the_gateway_promises_what_a_function_url_takes() -> None:
    page = (ROOT / "docs" / "gateway.md").read_text(encoding="utf-8")
    promised = re.search(r"A document may have 8 MiB(?:, and ([\d.]+) MB on Lambda)?", page)
    assert promised
    body = " " * int(float(promised[1] or 8.4) * 1_000_000)
    assert faults([Call("mc", URL, "PUT", {"Body": body})]) == []
