"""The user of `make up`'s gateway."""

from pathlib import Path
from typing import Any

import pytest

from bucketcast.users import User
from bucketcast.users.aws import Users
from localstack import clients, gateway
from localstack.layout import STACK
from tests.unit.moto_aws import client


@pytest.fixture
def users(
    mocked_aws: None,  # noqa: ARG001 - it mocks AWS
    dynamodb: Any,
    state_table: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Users:
    monkeypatch.setattr(gateway, "KEYS", folder / "gateway-user.json")
    monkeypatch.setattr(clients, "dynamodb", lambda: dynamodb)
    monkeypatch.setattr(clients, "secretsmanager", lambda: client("secretsmanager"))
    return Users(STACK, state_table, dynamodb, client("secretsmanager"))


def test_user_without_a_secret_is_created_again(users: Users, state_table: str) -> None:
    """A start that was killed between the rows and the secret leaves such a user."""
    access, secret = gateway._user(state_table)
    client("secretsmanager").delete_secret(
        SecretId=f"{STACK}/users/{access}", ForceDeleteWithoutRecovery=True
    )
    assert users.find(access) is None
    assert gateway._user(state_table) == (access, secret)
    account = users.find(access)
    assert account
    assert account.secret == secret


def test_user_with_lost_keys_gets_new_ones(users: Users, state_table: str) -> None:
    before, _ = gateway._user(state_table)
    gateway.KEYS.unlink()
    access, _ = gateway._user(state_table)
    assert users.find(before) is None
    (user,) = users.all()
    assert user == User(user.id, gateway.USER, "", (access,), admin=True)
