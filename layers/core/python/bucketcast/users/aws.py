"""Users in the state table, and their secret keys in Secrets Manager.

Signature Version 4 is an HMAC: checking it needs the secret key itself, a hash is not enough. So
only the gateway's function can read the secret keys, and the table that other functions read has
none.

A user has an item by name and one by each access key, all the same, so that a login reads one.
"""

import json
import secrets
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bucketcast.errors import BucketcastError
from bucketcast.limits import MOST_USER_KEYS, MOST_USERS
from bucketcast.state.table import Partition
from bucketcast.users import MAX_KEY_LENGTH, Account, User

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_secretsmanager import SecretsManagerClient

# No bucket can have this name.
_PARTITION: Final = "#users"
_NAME: Final = "name#"
_KEY: Final = "key#"
_TEXT: Final = "text"
_LETTERS: Final = string.ascii_uppercase + string.digits
_ALPHABET: Final = string.ascii_letters + string.digits
_decode: Final = msgspec.json.Decoder(User).decode


class UserExistsError(BucketcastError):
    """A user with this name or access key exists."""


class UserChangedError(BucketcastError):
    """Another command changed the user at the same moment; nothing was changed."""


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
        """Add a user with one key.

        Raises:
            UserExistsError: the name or the access key is taken; nothing has changed.
            BucketcastError: there are too many users.
        """
        if (number := len(self.all())) >= MOST_USERS:
            raise BucketcastError(f"there are {number:,} users, and may be {MOST_USERS:,}")
        # The table first: only it refuses duplicates. A user without a secret cannot log in.
        if not self._store(None, user):
            named = self._items.get(_NAME + user.name)
            taken = user.name if named else f"with the access key {user.keys[0]}"
            raise UserExistsError(
                f"there is a user {taken} already; `bucketcast user ls` shows them"
            )
        self._store_secret(user, user.keys[0], secret, before=None)

    def all(self) -> list[User]:
        """Return every user, by name."""
        users = (_decode(item[_TEXT]["S"]) for item in self._items.items(_NAME))
        return sorted(users, key=lambda user: user.name)

    def get(self, name: str) -> User:
        """Return a user.

        Raises:
            BucketcastError: the user does not exist.
        """
        item = self._items.get(_NAME + name)
        if not item:
            known = ", ".join(user.name for user in self.all()) or "none"
            raise BucketcastError(f"no user {name}: there is {known}")
        return _decode(item[_TEXT]["S"])

    def change(self, name: str, change: Callable[[User], User]) -> User:
        """Change the rights of a user, and return it.

        Raises:
            BucketcastError: the user does not exist, or was changed at the same moment.
        """
        before = self.get(name)
        after = change(before)
        if not self._store(before, after):
            raise _changed(name)
        return after

    def add_key(self, name: str, access_key: str, secret: str) -> User:
        """Give a user a second key, and return it.

        Raises:
            UserExistsError: the access key is taken.
            BucketcastError: the user does not exist, has two keys, or was changed at this moment.
        """
        before = self.get(name)
        if access_key in before.keys:
            raise UserExistsError(f"{name} has the access key {access_key} already")
        if len(before.keys) >= MOST_USER_KEYS:
            raise BucketcastError(
                f"{name} has {' and '.join(before.keys)}, and may have no more keys; "
                f"`bucketcast user key rm {name} KEY` removes one"
            )
        after = replace(before, keys=(*before.keys, access_key))
        if not self._store(before, after):
            if self._items.get(_KEY + access_key):
                raise UserExistsError(f"there is a user with the access key {access_key} already")
            raise _changed(name)
        self._store_secret(after, access_key, secret, before=before)
        return after

    def remove_key(self, name: str, access_key: str) -> User:
        """Remove one of a user's two keys, and return the user.

        Raises:
            BucketcastError: the user does not exist, has no such key or no other one, or was
                changed at this moment.
        """
        before = self.get(name)
        if access_key not in before.keys:
            raise BucketcastError(
                f"{name} has no access key {access_key}: there is {' and '.join(before.keys)}"
            )
        if len(before.keys) == 1:
            raise BucketcastError(
                f"{access_key} is the only key of {name}: `bucketcast user key add {name}` adds "
                f"another, `bucketcast user rm {name}` removes the user"
            )
        after = replace(before, keys=tuple(key for key in before.keys if key != access_key))
        self._remove(before, after, [access_key])
        return after

    def remove(self, name: str) -> User:
        """Remove a user, and return it.

        Raises:
            BucketcastError: the user does not exist, or was changed at this moment.
        """
        user = self.get(name)
        self._remove(user, None, user.keys)
        return user

    def find(self, access_key: str) -> Account | None:
        """Return the account of an access key; None if there is none."""
        # An unknown access key may be longer than DynamoDB allows.
        user = self._user_of(access_key) if len(access_key) <= MAX_KEY_LENGTH else None
        if not user:
            return None
        try:
            name = self._secret_name(user.id, access_key)
            response = self._secrets.get_secret_value(SecretId=name)
        except self._secrets.exceptions.ResourceNotFoundException:
            return None
        secret: str = json.loads(response["SecretString"])["secret_key"]
        return Account(user, secret)

    def _user_of(self, access_key: str) -> User | None:
        item = self._items.get(_KEY + access_key)
        return _decode(item[_TEXT]["S"]) if item else None

    def _store(self, before: User | None, after: User | None) -> bool:
        """Replace the items of a user; False if they are not those of `before`, or are taken."""
        old, new = _items(before), _items(after)
        changes = (
            (key, _if_same(old.get(key)), new.get(key)) for key in dict.fromkeys([*old, *new])
        )
        parts = [
            self._items.put_part(key, {_TEXT: text}, **unchanged)
            if text
            else self._items.delete_part(key, **unchanged)
            for key, unchanged, text in changes
        ]
        return self._items.transact(*parts)

    def _secret_name(self, user_id: str, access_key: str) -> str:
        """Return a name that no other user's key has: who removes it removes no other's secret."""
        return f"{self._stack}/users/{user_id}/{access_key}"

    def _store_secret(
        self, user: User, access_key: str, secret: str, *, before: User | None
    ) -> None:
        """Store the secret of a new key; if that fails, undo the change that added the key."""
        try:
            self._secrets.create_secret(
                Name=self._secret_name(user.id, access_key),
                Description=f"The secret key of Bucketcast's user {user.name}",
                SecretString=json.dumps({"secret_key": secret}),
            )
        except BaseException as error:
            self._store(user, before)
            errors = self._secrets.exceptions
            # The second while AWS still removes the secret.
            if isinstance(error, errors.ResourceExistsException | errors.InvalidRequestException):
                raise UserChangedError(
                    f"{access_key} is a key of {user.name} that is being removed: take another"
                ) from None
            raise
        now = self._user_of(access_key)
        if now is None or now.id != user.id:  # who removed it found no secret yet
            self._delete_secret(user.id, access_key)
            raise _changed(user.name)

    def _remove(self, before: User, after: User | None, keys: Sequence[str]) -> None:
        """Remove keys; if a secret cannot be removed, undo it, so that it can be tried again."""
        if not self._store(before, after):
            raise _changed(before.name)
        try:
            for key in keys:
                self._delete_secret(before.id, key)
        except BaseException:
            self._store(after, before)
            raise

    def _delete_secret(self, user_id: str, access_key: str) -> None:
        # Without a recovery window: no unused secret may remain. One that is gone is no error.
        self._secrets.delete_secret(
            SecretId=self._secret_name(user_id, access_key), ForceDeleteWithoutRecovery=True
        )


def new_id() -> str:
    """Return the id of a new user."""
    return secrets.token_hex(8)


def new_keys() -> tuple[str, str]:
    """Return a new access key of 20 characters and a secret key of 40, as those of AWS."""
    access = "BC" + "".join(secrets.choice(_LETTERS) for _ in range(18))
    return access, "".join(secrets.choice(_ALPHABET) for _ in range(40))


def _items(user: User | None) -> dict[str, dict[str, str]]:
    """Return a user's text by the keys of its items, one by name and one by each access key."""
    if user is None:
        return {}
    text = {"S": msgspec.json.encode(user).decode()}
    return dict.fromkeys([_NAME + user.name, *(_KEY + key for key in user.keys)], text)


def _changed(name: str) -> UserChangedError:
    return UserChangedError(f"{name} was changed by another command at the same moment: try again")


def _if_same(text: Mapping[str, str] | None) -> dict[str, Any]:
    """Return the condition that an item still has this text, or that there is none."""
    names = {"ExpressionAttributeNames": {"#text": _TEXT}}
    if text is None:
        return {"ConditionExpression": "attribute_not_exists(#text)", **names}
    values = {"ExpressionAttributeValues": {":text": text}}
    return {"ConditionExpression": "#text = :text", **names, **values}
