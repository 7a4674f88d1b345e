"""Secrets: settings of the form `secret:NAME` are read from Secrets Manager.

`secret:NAME` is the whole secret, `secret:NAME#FIELD` one field of a secret that is a JSON
object, such as those that RDS rotates. The line end of a secret of one line is cut: editors and
`echo` write one into a stored file. PEM blocks stay as they are.

After a refused login the secret is read again, in case it has changed. A read costs money, so that
happens at most once a minute. While Secrets Manager does not answer, a secret that is known is used
however old it is.
"""

import json
import re
import time
from collections.abc import Mapping
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Final

from bucketcast.aws import function_clients
from bucketcast.aws.answers import is_no_answer
from bucketcast.errors import DeliveryError, NotAuthorized, Unavailable
from bucketcast.settings.types import REFERENCE

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

MAX_AGE_SECONDS: Final = 300
FRESH_SECONDS: Final = 60
"""A secret that was read again is not read again for so long."""
FAILED_SECONDS: Final = 15
"""The same of one that could not be read: that may have taken 10 seconds."""
_LINE = re.compile(r"([^\r\n]*)\r?\n")


def resolve(settings: Mapping[str, str], *, fresh: bool = False) -> dict[str, str]:
    """Return the settings with every reference replaced; `fresh` reads secrets again, if it may.

    Raises:
        NotAuthorized: a secret cannot be used; the text has its name, never a value.
        Unavailable: Secrets Manager does not answer.
    """
    return {
        key: _resolve(key, text, fresh=fresh) if text.startswith(REFERENCE) else text
        for key, text in settings.items()
    }


def forget() -> None:
    """Drop all cached secrets, so that a probe reads the current ones."""
    _create_reader.cache_clear()


class _Reader:
    """Reads secrets, and remembers when one was read again or could not be read."""

    def __init__(self) -> None:
        self._client: SecretsManagerClient = function_clients.client("secretsmanager")
        self._known: dict[str, tuple[float, str | bytes]] = {}
        self._fresh: dict[str, float] = {}
        self._failures: dict[str, tuple[float, type[DeliveryError], str]] = {}

    def read(self, name: str, *, fresh: bool) -> str | bytes:
        """Return a secret.

        Raises:
            NotAuthorized: it cannot be read, or could not a moment ago.
            Unavailable: Secrets Manager does not answer, and never did.
        """
        refetch = fresh and not _is_younger(self._fresh.get(name, 0.0), FRESH_SECONDS)
        since, secret = self._known.get(name, (0.0, ""))
        if refetch or not _is_younger(since, MAX_AGE_SECONDS):
            try:
                secret = self._fetch(name)
                self._known[name] = time.time(), secret
                # The first read, as by a probe, follows no refused login.
                if refetch and name in self._fresh:
                    self._fresh[name] = time.time()
                self._fresh.setdefault(name, 0.0)
            except Unavailable:
                if name not in self._known:
                    raise
        return secret

    def _fetch(self, name: str) -> str | bytes:
        since, kind, reason = self._failures.get(name, (0.0, NotAuthorized, ""))
        if _is_younger(since, FAILED_SECONDS):
            raise kind(reason)
        try:
            found = self._client.get_secret_value(SecretId=name)
        except Exception as error:
            kind = Unavailable if is_no_answer(error) else NotAuthorized
            self._failures[name] = time.time(), kind, str(error)
            raise kind(str(error)) from error
        return found["SecretString"] if "SecretString" in found else found["SecretBinary"]


_create_reader = cache(_Reader)
_creating: Final = Lock()


def _reader() -> _Reader:
    with _creating:  # botocore creates one client at a time
        return _create_reader()


def _is_younger(since: float, seconds: float) -> bool:
    return 0 <= time.time() - since < seconds


def _resolve(key: str, reference: str, *, fresh: bool) -> str:
    name, _, member = reference.removeprefix(REFERENCE).partition("#")
    try:
        text = _reader().read(name, fresh=fresh)
        if isinstance(text, bytes):
            text = text.decode()
    except DeliveryError as error:
        raise type(error)(f"{key}: the secret '{name}' cannot be read: {error}") from None
    except UnicodeDecodeError:
        raise NotAuthorized(f"{key}: the secret '{name}' is not text in UTF-8") from None
    if not member:
        line = _LINE.fullmatch(text)
        return line[1] if line else text
    try:
        return str(json.loads(text)[member])
    except (ValueError, KeyError, TypeError):
        raise NotAuthorized(
            f"{key}: the secret '{name}' is not a JSON object with a field '{member}'"
        ) from None
