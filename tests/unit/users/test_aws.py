"""Users: unique names and keys, with the secret only in Secrets Manager."""

from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import Mock

import pytest
from botocore.exceptions import ClientError

from bucketcast.errors import BucketcastError
from bucketcast.state.rules import Rules
from bucketcast.users import Account, User
from bucketcast.users.aws import UserChangedError, UserExistsError, Users, new_keys
from tests.unit.moto_aws import client

ANNA = User("a1", "anna", "shop", ("ANNAKEY",), grants={"photos-*": ("read", "notify")})
BOB = User("b1", "bob", "", ("BOBKEY",))
SECRET = "anna-s3cret"


@pytest.fixture
def secretsmanager(mocked_aws: None) -> Any:  # noqa: ARG001 - it mocks AWS
    return client("secretsmanager")


@pytest.fixture
def users(dynamodb: Any, state_table: str, secretsmanager: Any) -> Users:
    """Anna is there."""
    made = Users("Bucketcast", state_table, dynamodb, secretsmanager)
    made.add(ANNA, SECRET)
    return made


def found(users: Users, key: str = "ANNAKEY") -> Account:
    account = users.find(key)
    assert account
    return account


refuse = Mock(side_effect=ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, ""))


def test_an_added_user_is_found_by_the_access_key(users: Users) -> None:
    account = found(users)
    assert (account.user, account.secret) == (ANNA, SECRET)
    assert users.find("annakey") is None
    assert users.all() == [ANNA]


@pytest.mark.parametrize("key", ["x" * 129, "x" * 16_000, "ä" * 600])
def test_a_key_longer_than_dynamodb_allows_belongs_to_no_user(key: str) -> None:
    """DynamoDB refuses keys above 1,024 bytes: an unknown caller would get a temporary error."""
    unused: Any = None
    assert Users("Bucketcast", "table", unused, unused).find(key) is None


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (User("2", "anna", "", ("OTHER",)), "a user anna already"),
        (User("2", "other", "", ("ANNAKEY",)), "a user with the access key ANNAKEY already"),
    ],
)
def test_a_name_or_key_cannot_be_used_twice(users: Users, other: User, message: str) -> None:
    with pytest.raises(UserExistsError, match=message):
        users.add(other, "another-s3cret")
    assert found(users).secret == SECRET
    assert users.all() == [ANNA]


def test_a_removed_user_is_not_found_and_can_be_added_again(
    users: Users, secretsmanager: Any
) -> None:
    assert users.remove("anna") == ANNA
    assert users.find("ANNAKEY") is None
    assert secretsmanager.list_secrets()["SecretList"] == []
    users.add(ANNA, "new-s3cret")
    with pytest.raises(BucketcastError, match="there is anna"):
        users.remove("ann")


def test_a_second_key_replaces_the_first_without_an_outage(
    users: Users, secretsmanager: Any
) -> None:
    users.add_key("anna", "SECOND", "second-s3cret")
    for key, secret in (("ANNAKEY", SECRET), ("SECOND", "second-s3cret")):
        account = found(users, key)
        assert (account.user.keys, account.secret) == (("ANNAKEY", "SECOND"), secret)
    with pytest.raises(BucketcastError, match="has ANNAKEY and SECOND, and may have no more keys"):
        users.add_key("anna", "THIRD", "third-s3cret")
    users.remove_key("anna", "ANNAKEY")
    assert users.find("ANNAKEY") is None
    assert users.find("SECOND")
    with pytest.raises(BucketcastError, match="no access key ANNAKEY: there is SECOND"):
        users.remove_key("anna", "ANNAKEY")
    with pytest.raises(BucketcastError, match="SECOND is the only key"):
        users.remove_key("anna", "SECOND")
    assert len(secretsmanager.list_secrets()["SecretList"]) == 1
    users.add(User("2", "other", "", ("ANNAKEY",)), "others-s3cret")
    with pytest.raises(UserExistsError, match="ANNAKEY already"):
        users.add_key("anna", "ANNAKEY", "stolen-s3cret")
    assert found(users).secret == "others-s3cret"


def test_a_change_is_seen_by_each_key_and_conflicts_with_another(users: Users) -> None:
    users.add_key("anna", "SECOND", "second-s3cret")

    def change(user: User) -> User:
        users.change("anna", lambda user: replace(user, grants={}))
        return replace(user, admin=True)

    with pytest.raises(UserChangedError, match="try again"):
        users.change("anna", change)
    for key in ("ANNAKEY", "SECOND"):
        user = found(users, key).user
        assert (user.admin, user.grants) == (False, {})


def test_who_adds_a_user_while_it_is_removed_keeps_the_secret(
    users: Users, secretsmanager: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    delete = secretsmanager.delete_secret

    def add_first(**secret: Any) -> None:
        monkeypatch.setattr(secretsmanager, "delete_secret", delete)
        users.add(replace(ANNA, id="a2"), "new-s3cret")
        delete(**secret)

    monkeypatch.setattr(secretsmanager, "delete_secret", add_first)
    users.remove("anna")
    account = found(users)
    assert (account.user.id, account.secret) == ("a2", "new-s3cret")


def test_a_key_that_is_being_removed_is_not_added_again(
    users: Users, secretsmanager: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    users.add_key("anna", "SECOND", "second-s3cret")
    delete = secretsmanager.delete_secret

    def add_first(**secret: Any) -> None:
        with pytest.raises(UserChangedError, match="SECOND is a key of anna that is being removed"):
            users.add_key("anna", "SECOND", "third-s3cret")
        delete(**secret)

    monkeypatch.setattr(secretsmanager, "delete_secret", add_first)
    users.remove_key("anna", "SECOND")
    assert users.get("anna") == ANNA
    errors = secretsmanager.exceptions
    scheduled = errors.InvalidRequestException({"Error": {"Code": "x", "Message": "scheduled"}}, "")
    monkeypatch.setattr(secretsmanager, "create_secret", Mock(side_effect=scheduled))
    with pytest.raises(UserChangedError, match="SECOND is a key of anna that is being removed"):
        users.add_key("anna", "SECOND", "third-s3cret")
    with pytest.raises(UserExistsError, match="anna has the access key ANNAKEY already"):
        users.add_key("anna", "ANNAKEY", "another-s3cret")


def test_rights_of_patterns_add_up() -> None:
    user = User("1", "a", "", (), grants={"photos-*": ("read",), "*-[ab]": ("write",)})
    assert set(user.rights_on("photos-a")) == {"read", "write"}
    assert set(user.rights_on("photos-c")) == {"read"}
    assert set(user.rights_on("Photos-c")) == set()


def test_the_table_has_no_secret(users: Users, dynamodb: Any, state_table: str) -> None:
    assert users.all() == [ANNA]
    assert SECRET not in str(dynamodb.scan(TableName=state_table)["Items"])
    assert Rules(state_table, dynamodb).of("#users") == []


def test_a_user_whose_secret_was_not_stored_can_be_added_again(
    users: Users, secretsmanager: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(secretsmanager, "create_secret", refuse)
        with pytest.raises(ClientError):
            users.add(BOB, SECRET)
    assert users.find("BOBKEY") is None
    users.add(BOB, SECRET)
    assert users.find("BOBKEY")


def test_a_key_or_user_whose_secret_was_not_removed_can_be_removed_again(
    users: Users, secretsmanager: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    users.add_key("anna", "SECOND", "second-s3cret")
    for remove in (partial(users.remove_key, "anna", "SECOND"), partial(users.remove, "anna")):
        with monkeypatch.context() as patched:
            patched.setattr(secretsmanager, "delete_secret", refuse)
            with pytest.raises(ClientError):
                remove()
        remove()
    assert (users.all(), secretsmanager.list_secrets()["SecretList"]) == ([], [])


def test_a_key_whose_user_is_removed_while_it_is_added_leaves_no_secret(
    users: Users, secretsmanager: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = secretsmanager.create_secret
    monkeypatch.setattr(
        secretsmanager, "create_secret", lambda **new: (users.remove("anna"), create(**new))
    )
    with pytest.raises(UserChangedError, match="try again"):
        users.add_key("anna", "SECOND", "second-s3cret")
    assert secretsmanager.list_secrets()["SecretList"] == []


def test_new_keys_are_unique_letters_and_digits() -> None:
    keys = {new_keys() for _ in range(50)}
    assert len(keys) == 50
    assert all(len(key) == 20 and len(secret) == 40 for key, secret in keys)
    assert all((key + secret).isalnum() for key, secret in keys)


def test_there_are_no_more_users_than_the_gateway_can_read(
    users: Users, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bucketcast.users.aws.MOST_USERS", 2)
    users.add(BOB, SECRET)
    with pytest.raises(BucketcastError, match="there are 2 users, and may be 2"):
        users.add(replace(BOB, name="carl", keys=("CARLS",)), SECRET)
