"""Users in the state table, and their secret keys in Secrets Manager.

Signature Version 4 is an HMAC: checking it needs the secret key itself, a hash is not enough. So
only the gateway's function can read the secret keys, and the table that other functions read has
none.
"""

import json
import secrets
import string
from typing import TYPE_CHECKING, Any, Final

from bucketcast.errors import BucketcastError
from bucketcast.state.table import SORT_KEY, Part, Partition
from bucketcast.users import Account, User

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_secretsmanager import SecretsManagerClient

# No bucket can have this name.
_PARTITION: Final = "#users"
_NAME: Final = "name#"
_KEY: Final = "key#"
_MAX_KEY_LENGTH: Final = 128
_LETTERS: Final = string.ascii_uppercase + string.digits
_ALPHABET: Final = string.ascii_letters + string.digits


class UserExistsError(BucketcastError):
    """A user with this name or access key exists."""


class Users:
    """The users of one deployment."""

    def __init__(
        self,
        stack: str,
        table: str,
        dynamodb: "DynamoDBClient",
        secretsmanager: "SecretsManagerClient",
    ) -> None:
        self._stack = stack
        self._items = Partition(table, _PARTITION, dynamodb)
        self._secrets = secretsmanager

    def add(self, user: User, secret: str) -> None:
        """Add a user.

        Raises:
            UserExistsError: the name or the access key is taken; nothing has changed.
        """
        # The table first: only it refuses duplicates. A user without a secret cannot log in.
        try:
            self._items.transact(*(self._put_part(key, user) for key in _keys(user)))
        except self._items.client.exceptions.TransactionCanceledException:
            raise UserExistsError(
                f"there is a user {user.name}, or one with the access key {user.access_key}, "
                "already; `bucketcast user ls` shows them"
            ) from None
        try:
            self._store_secret(user, json.dumps({"secret_key": secret}))
        except BaseException:
            self._remove_items(user)
            raise

    def all(self) -> list[User]:
        """Return every user, by name."""
        return sorted(map(_user, self._items.items(_NAME)), key=lambda user: user.name)

    def remove(self, name: str) -> User:
        """Remove a user.

        Raises:
            BucketcastError: the user does not exist.
        """
        item = self._items.get(_NAME + name)
        if not item:
            known = ", ".join(user.name for user in self.all()) or "none"
            raise BucketcastError(f"no user {name}: there is {known}")
        user = _user(item)
        self._remove_items(user)
        # Without a recovery window: its name must be free at once, and no unused secret may remain.
        self._secrets.delete_secret(
            SecretId=self._secret_name(user.access_key), ForceDeleteWithoutRecovery=True
        )
        return user

    def find(self, access_key: str) -> Account | None:
        """Return the account of an access key; None if there is none."""
        # An unknown access key may be longer than DynamoDB allows.
        item = self._items.get(_KEY + access_key) if len(access_key) <= _MAX_KEY_LENGTH else None
        if not item:
            return None
        try:
            response = self._secrets.get_secret_value(SecretId=self._secret_name(access_key))
        except self._secrets.exceptions.ResourceNotFoundException:
            return None
        secret: str = json.loads(response["SecretString"])["secret_key"]
        return Account(_user(item), secret)

    def _secret_name(self, access_key: str) -> str:
        return f"{self._stack}/users/{access_key}"

    def _store_secret(self, user: User, value: str) -> None:
        name = self._secret_name(user.access_key)
        try:
            self._secrets.create_secret(
                Name=name,
                Description=f"The secret key of Bucketcast's user {user.name}",
                SecretString=value,
            )
        except self._secrets.exceptions.ResourceExistsException:
            # An interrupted removal left it; no user has it.
            self._secrets.put_secret_value(SecretId=name, SecretString=value)

    def _remove_items(self, user: User) -> None:
        self._items.transact(*map(self._items.delete_part, _keys(user)))

    def _put_part(self, key: str, user: User) -> Part:
        item = {
            "name": {"S": user.name},
            "tenant": {"S": user.tenant},
            "access_key": {"S": user.access_key},
            "admin": {"BOOL": user.admin},
        }
        return self._items.put_part(
            key,
            item,
            ConditionExpression="attribute_not_exists(#key)",
            ExpressionAttributeNames={"#key": SORT_KEY},
        )


def new_keys() -> tuple[str, str]:
    """Return a new access key of 20 characters and a secret key of 40, as those of AWS."""
    access = "BC" + "".join(secrets.choice(_LETTERS) for _ in range(18))
    return access, "".join(secrets.choice(_ALPHABET) for _ in range(40))


def _keys(user: User) -> tuple[str, str]:
    """Return the keys of a user's two items, one by name and one by access key."""
    return _NAME + user.name, _KEY + user.access_key


def _user(item: Any) -> User:
    return User(
        item["name"]["S"], item["tenant"]["S"], item["access_key"]["S"], item["admin"]["BOOL"]
    )
