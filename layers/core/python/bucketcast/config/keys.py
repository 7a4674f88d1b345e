"""The keys `kms_key` and `kms_keys`: what a customer encrypts with."""

import re
from collections.abc import Iterator
from typing import Any, Final

from bucketcast.errors import ConfigError

_KEY: Final = re.compile(
    r"arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/(?:mrk-)?[0-9a-f]{8,}(?:-[0-9a-f]+)*"
)
_ONE: Final = "allowed is a key's ARN, arn:aws:kms:REGION:ACCOUNT:key/ID, not an alias"
_ALLOWED: Final = "allowed is a list of key ARNs, arn:aws:kms:REGION:ACCOUNT:key/ID, not aliases"


def validation_errors(found: Any) -> Iterator[ConfigError]:
    """Return what is wrong with `kms_keys`."""
    if not isinstance(found, list):
        yield ConfigError("kms_keys", f"found {found!r}", _ALLOWED)
        return
    for key in found:
        if not isinstance(key, str) or not _KEY.fullmatch(key):
            yield ConfigError("kms_keys", f"found {key!r}", _ALLOWED)


def key_errors(found: Any) -> Iterator[ConfigError]:
    """Return what is wrong with `kms_key`, "" for none."""
    if found and not (isinstance(found, str) and _KEY.fullmatch(found)):
        yield ConfigError("kms_key", f"found {found!r}", _ONE)
