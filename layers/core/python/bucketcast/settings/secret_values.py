"""The secret texts in a target's settings, as they go over the wire."""

import dataclasses
import re
from base64 import b64encode
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from bucketcast.settings.types import LoginUrl, Secret, SecretPem, SecretSeed

SHORTEST = 4
"""Shorter texts may be part of any word, and are not hidden."""
_LOGIN = re.compile(r"(?:^(?!\w+://)|//)([^:/@]*):(.*)@", re.DOTALL)
"""User and password of a URL, or of a DSN of Go's driver for MySQL."""
_KEYWORD = re.compile(r"\bpassword\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s\\]|\\.)+))")
"""The password of a connection string of PostgreSQL."""
_CREDENTIALS = re.compile(r"\w+ (\S+)")
"""The value of an Authorization header with its scheme."""
_PART = re.compile(r"[\w.+/=-]{40,}")
"""A part of a file with several, such as the JWT of a user of NATS."""


def secret_values(settings: Any) -> frozenset[str]:
    """Return the secrets of these settings and those in them, also as HTTP sends them."""
    if not dataclasses.is_dataclass(settings):
        return frozenset()
    user = str(getattr(settings, "username", ""))
    secrets = set[str]()
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if isinstance(value, Secret) and value:
            secrets.update(_values(value, user))
    return frozenset(secret for secret in secrets if len(secret) >= SHORTEST)


def _values(value: Secret, user: str) -> Iterator[str]:
    text = value.reveal()
    login = _LOGIN.search(text)
    if login:
        yield from _password(unquote(login[1]), login[2])
    elif isinstance(value, LoginUrl):
        yield text.partition("?")[2]
        return  # it has no login, and the rest is no secret
    if keyword := _KEYWORD.search(text):
        yield from _password(user, re.sub(r"\\(.)", r"\1", keyword[1] or keyword[2] or ""))
    if credentials := _CREDENTIALS.fullmatch(text):
        yield credentials[1]
    if isinstance(value, SecretPem | SecretSeed):
        yield from _PART.findall(text)
    # HTTP sends an API key with its id in Base64, and a password with its user.
    yield from (text, _base64(text), _base64(f"{user}:{text}"))


def _password(user: str, password: str) -> Iterator[str]:
    """Yield a password as written and decoded, and as HTTP's Basic sends it."""
    plain = unquote(password)
    yield from (password, plain, _base64(f"{user}:{plain}"))


def _base64(text: str) -> str:
    return b64encode(text.encode()).decode()
