"""The key `kms_keys`: what a customer encrypts secrets and reports with."""

import re
from collections.abc import Iterator
from typing import Any, Final

from bucketcast.errors import ConfigError

_KEY: Final = re.compile(
    r"arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/(?:mrk-)?[0-9a-f]{8,}(?:-[0-9a-f]+)*"
)
_ALLOWED: Final = "allowed is a list of key ARNs, arn:aws:kms:REGION:ACCOUNT:key/ID, not aliases"


def validation_errors(found: Any) -> Iterator[ConfigError]:
    """What is wrong with what the configuration has there."""
    if not isinstance(found, list):
        yield ConfigError("kms_keys", f"found {found!r}", _ALLOWED)
        return
    for key in found:
        if not isinstance(key, str) or not _KEY.fullmatch(key):
            yield ConfigError("kms_keys", f"found {key!r}", _ALLOWED)
