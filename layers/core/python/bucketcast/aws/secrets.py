"""Secrets: settings of the form `secret:NAME` are read from Secrets Manager.

`secret:NAME` is the whole secret, `secret:NAME#FIELD` one field of a secret that is a JSON
object, such as those that RDS rotates. The line end of a secret of one line is no part of it: it is
there if a file was stored that an editor or `echo` wrote. PEM blocks stay as they are.
"""

import json
import re
from collections.abc import Mapping

from aws_lambda_powertools.utilities import parameters
from aws_lambda_powertools.utilities.parameters.exceptions import GetParameterError

from bucketcast.errors import NotAuthorized
from bucketcast.settings.options import REFERENCE

MAX_AGE_SECONDS = 300
_LINE = re.compile(r"([^\r\n]*)\r?\n")


def resolve(settings: Mapping[str, str], *, fresh: bool = False) -> dict[str, str]:
    """Return the settings with every reference replaced; `fresh` bypasses the cache.

    Raises:
        NotAuthorized: a secret cannot be read; the text has its name, never a value.
    """
    return {
        key: _secret(key, text, fresh=fresh) if text.startswith(REFERENCE) else text
        for key, text in settings.items()
    }


def _secret(key: str, reference: str, *, fresh: bool) -> str:
    name, _, member = reference.removeprefix(REFERENCE).partition("#")
    try:
        text = parameters.get_secret(name, max_age=MAX_AGE_SECONDS, force_fetch=fresh)
        if isinstance(text, bytes):
            text = text.decode()
    except GetParameterError as error:
        raise NotAuthorized(f"{key}: the secret '{name}' cannot be read: {error}") from None
    except UnicodeDecodeError:
        raise NotAuthorized(f"{key}: the secret '{name}' is no text in UTF-8") from None
    if not member:
        line = _LINE.fullmatch(text)
        return line[1] if line else text
    try:
        return str(json.loads(text)[member])
    except (ValueError, KeyError, TypeError):
        raise NotAuthorized(
            f"{key}: the secret '{name}' is no JSON object with a field '{member}'"
        ) from None
