"""Users: unique names and keys, with the secret only in Secrets Manager."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from bucketcast.errors import BucketcastError
from bucketcast.state.rules import Rules
from bucketcast.users import User
from bucketcast.users.aws import UserExistsError, Users, new_keys
from tests.unit.moto_aws import client

ANNA = User("anna", "shop", "ANNAKEY", admin=True)
SECRET = "anna-s3cret"


@pytest.fixture
def secretsmanager(mocked_aws: None) -> Any:  # noqa: ARG001 - it answers
    return client("secretsmanager")


@pytest.fixture
def users(dynamodb: Any, state_table: str, secretsmanager: Any) -> Users:
    return Users("Bucketcast", state_table, dynamodb, secretsmanager)


def test_who_was_added_is_found_by_the_access_key(users: Users) -> None:
    users.add(ANNA, SECRET)
    account = users.find("ANNAKEY")
    assert account
    assert (account.user, account.secret) == (ANNA, SECRET)
    assert users.find("annakey") is None
    assert users.all() == [ANNA]


@pytest.mark.parametrize("key", ["x" * 129, "x" * 16_000, "ä" * 600])
def test_what_can_be_no_access_key_is_nobodys(key: str) -> None:
    """DynamoDB refuses keys above 1,024 bytes: an unknown caller would get a temporary error."""
    nobody: Any = None
    assert Users("Bucketcast", "table", nobody, nobody).find(key) is None


@pytest.mark.parametrize(
    "other", [User("anna", "", "OTHER", admin=False), User("other", "", "ANNAKEY", admin=False)]
)
def test_a_name_or_key_cannot_be_used_twice(users: Users, other: User) -> None:
    users.add(ANNA, SECRET)
    with pytest.raises(UserExistsError, match="already"):
        users.add(other, "another-s3cret")
    account = users.find("ANNAKEY")
    assert account
    assert account.secret == SECRET
    assert users.all() == [ANNA]


def test_who_was_removed_is_nobody_and_may_come_back(users: Users, secretsmanager: Any) -> None:
    users.add(ANNA, SECRET)
    assert users.remove("anna") == ANNA
    assert users.find("ANNAKEY") is None
    assert secretsmanager.list_secrets()["SecretList"] == []
    users.add(ANNA, "new-s3cret")
    with pytest.raises(BucketcastError, match="there is anna"):
        users.remove("ann")


def test_the_table_has_no_secret(users: Users, dynamodb: Any, state_table: str) -> None:
    users.add(ANNA, SECRET)
    assert SECRET not in str(dynamodb.scan(TableName=state_table)["Items"])
    assert Rules(state_table, dynamodb).of("#users") == []


def test_who_has_no_secret_is_not_let_in_and_not_in_the_way(
    users: Users, secretsmanager: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: Any) -> None:
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "CreateSecret")

    with monkeypatch.context() as patched:
        patched.setattr(secretsmanager, "create_secret", fail)
        with pytest.raises(ClientError):
            users.add(ANNA, SECRET)
    assert users.find("ANNAKEY") is None
    users.add(ANNA, SECRET)
    assert users.find("ANNAKEY")


def test_keys_are_made_of_letters_and_digits_and_never_twice() -> None:
    made = {new_keys() for _ in range(50)}
    assert len(made) == 50
    assert all(len(key) == 20 and len(secret) == 40 for key, secret in made)
    assert all((key + secret).isalnum() for key, secret in made)
