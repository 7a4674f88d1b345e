"""`kms_key`: all that the stack keeps is encrypted by one key of the customer's."""

import json
import re
from pathlib import Path

import pytest

from bucketcast.diagnose.queues import KEY_POLICY, check_policy
from bucketcast.notifications.policy import Caller
from tests.infra.conftest import TYPICAL, Make, Synthesised
from tests.infra.resolved import ACCOUNT, REGION
from tests.infra.resource_policies import Request, allows
from tests.infra.test_pipeline import PIPELINE

KEY = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/1234abcd-12ab-34cd-56ef-1234567890ab"
MORE = '[gateway]\nfunction_url = "on"\nlisten_concurrency = 10\n'
PAGE = Path(__file__).parents[2] / "docs" / "operations.md"


@pytest.fixture(scope="module")
def encrypted(make: Make) -> Synthesised:
    """A stack with all that keeps something."""
    head = f'kms_key = "{KEY}"\n{MORE}'
    access = '[bucket.uploads]\ncreate = true\naccess_events = ["get"]\n'
    return make(head + TYPICAL.replace("[bucket.uploads]\ncreate = true\n", access) + PIPELINE)


def test_key_encrypts_queues_tables_logs_and_variables(encrypted: Synthesised) -> None:
    for queue in encrypted.properties_of("AWS::SQS::Queue"):
        assert queue["KmsMasterKeyId"] == KEY
        assert "SqsManagedSseEnabled" not in queue
    for table in encrypted.properties_of("AWS::DynamoDB::Table"):
        by_key = {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": KEY}
        assert table["SSESpecification"] == by_key
    assert {each["KmsKeyId"] for each in encrypted.properties_of("AWS::Logs::LogGroup")} == {KEY}
    assert {each["KmsKeyArn"] for each in encrypted.properties_of("AWS::Lambda::Function")} == {KEY}


def test_a_new_key_makes_cloudformation_ask_each_bucket(encrypted: Synthesised) -> None:
    """S3 then tries the key: the queue alone would change, and its events would be lost."""
    found = encrypted.properties_of("Custom::BucketNotification")
    assert [each.get("Key") for each in found if "StateTable" in each] == [KEY, KEY]


def test_each_role_may_use_the_key_from_the_beginning(encrypted: Synthesised) -> None:
    for role in encrypted.properties_of("AWS::IAM::Role"):
        (policy,) = role["Policies"]
        (statement,) = policy["PolicyDocument"]["Statement"]
        assert statement["Resource"] == KEY
        assert {"kms:Decrypt", "kms:GenerateDataKey"} <= set(statement["Action"])


def test_key_encrypts_only_the_bucket_of_the_pipeline(encrypted: Synthesised) -> None:
    """A bucket that is made for its user is the user's, and CloudTrail writes its log."""
    found = [
        each["BucketEncryption"]["ServerSideEncryptionConfiguration"][0]
        for each in encrypted.properties_of("AWS::S3::Bucket")
    ]
    default = [each["ServerSideEncryptionByDefault"] for each in found]
    by_key = {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": KEY}
    assert sorted(each["SSEAlgorithm"] for each in default) == ["AES256", "AES256", "aws:kms"]
    assert found[default.index(by_key)]["BucketKeyEnabled"] is True


def test_stack_without_a_key_uses_keys_of_aws(typical: Synthesised) -> None:
    assert "KmsMasterKeyId" not in typical.text()
    queues = typical.properties_of("AWS::SQS::Queue")
    assert all(each["SqsManagedSseEnabled"] for each in queues)


def test_the_key_policy_of_the_page_lets_services_use_it() -> None:
    (found,) = re.findall(r"```json\n(\[\n.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    statements, found = json.loads(found), f'{{"Statement": {found}}}'

    def may(principal: str, action: str, **context: str) -> bool:
        return allows(statements, Request(principal, action, KEY, context))

    account = "aws:SourceAccount"
    for service, context in (
        ("s3", {account: ACCOUNT}),
        ("events", {}),
        ("sns", {account: ACCOUNT}),
    ):
        assert may(f"{service}.amazonaws.com", "kms:GenerateDataKey", **context)
        assert may(f"{service}.amazonaws.com", "kms:Decrypt", **context)
        assert not may(f"{service}.amazonaws.com", "kms:ScheduleKeyDeletion", **context)
        elsewhere = {account: "999999999999"} if context else {}
        assert may(f"{service}.amazonaws.com", "kms:Decrypt", **elsewhere) == (not context)
        caller = Caller(f"{service}.amazonaws.com", "arn:aws:any", context.get(account, ""))
        assert check_policy(KEY_POLICY, KEY, found, caller).status == "ok"
        half = found.replace("kms:GenerateDataKey", "kms:Sign")
        assert check_policy(KEY_POLICY, KEY, half, caller).status == "error"
    group = f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:/aws/lambda/"
    logs, key = f"logs.{REGION}.amazonaws.com", "kms:EncryptionContext:aws:logs:arn"
    assert may(logs, "kms:GenerateDataKey", **{key: f"{group}Bucketcast-ingest"})
    assert not may(logs, "kms:GenerateDataKey", **{key: f"{group}other"})
