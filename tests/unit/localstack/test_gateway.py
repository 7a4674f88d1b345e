"""The gateway of `make up`: its port, and its user."""

import json
from pathlib import Path
from typing import Any

import pytest

from bucketcast.users import User
from bucketcast.users.aws import Users
from localstack import background, clients, deploy, gateway, ports
from localstack.layout import STACK, Failure
from tests.unit.moto_aws import client


@pytest.fixture
def busy_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "is_free", lambda _: False)
    monkeypatch.setattr(ports, "holder", lambda _: "pid 1 (init)")


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


def run_at(port: int) -> None:
    background.start(gateway.NAME, ["/bin/sleep", "60"], {})
    (background.PIDS / f"{gateway.NAME}.started").write_text(json.dumps([port, "", "", 0]))


@pytest.mark.usefixtures("folder", "busy_ports")
def test_gateway_keeps_running_if_its_new_port_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    run_at(9100)
    monkeypatch.setenv("GATEWAY_PORT", "9102")
    monkeypatch.setattr(deploy, "outputs", lambda: {"StateTable": "state"})
    monkeypatch.setattr(gateway, "_user", lambda _: ("key", "secret"))
    with pytest.raises(Failure, match="port 9102"):
        gateway.refuse_busy_port()
    with pytest.raises(Failure, match="port 9102"):
        gateway.ensure()
    assert background.pid(gateway.NAME) is not None


@pytest.mark.usefixtures("folder", "busy_ports")
def test_port_of_the_running_gateway_is_not_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    run_at(9102)
    monkeypatch.setenv("GATEWAY_PORT", "9102")
    gateway.refuse_busy_port()


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
