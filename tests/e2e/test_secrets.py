"""Secrets are shown nowhere."""

from tests.e2e.deployment import STACK
from tests.e2e.system import System
from tests.servers import postgres, redis, webhook

SECRETS = (webhook.TOKEN, postgres.PASSWORD, redis.LIMITED_PASSWORD)


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
    local = list((system.local.folder / "logs").rglob("*.log"))
    assert system.local.log in local
    assert_clean(texts | {str(file): file.read_text(errors="replace") for file in local})


def assert_clean(texts: dict[str, str]) -> None:
    """Name the places where a secret is found, and not the secret's surroundings."""
    found = [(where, each) for where, text in texts.items() for each in SECRETS if each in text]
    assert not found, f"secrets lie open: {found}"
