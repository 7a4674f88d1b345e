"""Secrets are shown nowhere."""

import json
from collections.abc import Callable
from pathlib import Path

from tests.e2e.deployment import STACK
from tests.e2e.system import System
from tests.servers import postgres, redis, webhook
from tests.servers.receiver import Answer

NAME = "bucketcast/webhook-flaky/auth_token"
SECRETS = (webhook.TOKEN, postgres.PASSWORD, redis.LIMITED_PASSWORD)


def test_a_secret_that_an_endpoint_repeats_is_shown_nowhere(
    system: System, prefix: str, rule: Callable[..., None], tmp_path: Path
) -> None:
    flaky = system.consumers.flaky
    rule("webhook.flaky")
    arn, dead = (system.targets["webhook.flaky"][name] for name in ("arn", "dead"))
    secrets = system.client("secretsmanager")
    token = secrets.get_secret_value(SecretId=NAME)["SecretString"]
    assert token in SECRETS
    flaky.answer(Answer(status=422, body=f"you sent: Bearer {token}", match=prefix))
    try:
        system.put("uploads", f"{prefix}a.jpg")
        system.until_equal("the dead letter", lambda: system.depth(dead), 1)
    finally:
        flaky.answer()
    printed = system.bucketcast("dlq", "show", arn)
    assert "answered 422: you sent: Bearer ***" in printed.out
    outputs = {
        " ".join(words): system.bucketcast(*words)
        for words in (
            ("dlq", "ls", arn, "--json"),
            ("dlq", "export", arn),
            ("trace", "uploads", f"{prefix}a.jpg"),
        )
    }
    assert_clean(
        {words: ran.out + ran.err for words, ran in outputs.items()} | {"show": printed.out}
    )
    letters = system.sqs.receive_message(
        QueueUrl=dead, VisibilityTimeout=0, MessageAttributeNames=["All"]
    )["Messages"]
    assert_clean({"the dead letter": json.dumps(letters)})
    removed = tmp_path / "removed.ndjson"
    assert system.bucketcast("dlq", "purge", arn, "--file", str(removed), "--yes").code == 0
    assert_clean({"the removed": removed.read_text()})


def test_no_secret_is_in_a_table(system: System) -> None:
    tables = system.client("dynamodb")
    items = {
        name: [
            item
            for page in tables.get_paginator("scan").paginate(TableName=name)
            for item in page["Items"]
        ]
        for name in tables.list_tables()["TableNames"]
    }
    assert any(items.values())
    assert_clean({name: repr(found) for name, found in items.items()})


def test_no_secret_is_in_a_log(system: System) -> None:
    logs = system.client("logs")
    groups = [
        group["logGroupName"]
        for page in logs.get_paginator("describe_log_groups").paginate()
        for group in page["logGroups"]
    ]
    assert f"/aws/lambda/{STACK}-ingest" in groups
    texts = {
        group: "\n".join(
            event["message"]
            for page in logs.get_paginator("filter_log_events").paginate(logGroupName=group)
            for event in page["events"]
        )
        for group in groups
    }
    assert any(texts.values())
    local = files(system.local.folder / "logs", "*.log")
    assert system.local.log in local
    assert_clean(texts | {str(file): file.read_text(errors="replace") for file in local})


def files(folder: Path, pattern: str) -> list[Path]:
    found = sorted(folder.rglob(pattern))
    assert found, f"no {pattern} in {folder}"
    return found


def assert_clean(texts: dict[str, str]) -> None:
    """Name the places where a secret is found, and not the secret's surroundings."""
    found = [(where, each) for where, text in texts.items() for each in SECRETS if each in text]
    assert not found, f"secrets lie open: {found}"
