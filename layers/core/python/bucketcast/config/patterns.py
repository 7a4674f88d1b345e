"""Text of a certain form in the configuration, above all AWS's own names."""

import re
from collections.abc import Callable
from typing import Final


def matching(pattern: str, allowed: str) -> Callable[[str], str]:
    """Return the function that takes text of this pattern, or raises ValueError."""
    compiled = re.compile(pattern)

    def parse(text: str) -> str:
        if not compiled.fullmatch(text):
            raise ValueError(allowed)
        return text

    return parse


ACCOUNT: Final = matching(r"[0-9]{12}", "an account's id of 12 digits")
SNS_TOPIC: Final = matching(
    r"arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,256}",
    "the ARN of a standard SNS topic, arn:aws:sns:REGION:ACCOUNT:NAME",
)
KMS_KEY: Final = matching(
    r"arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/(?:mrk-)?[0-9a-f]{8,}(?:-[0-9a-f]+)*",
    "a key's ARN, arn:aws:kms:REGION:ACCOUNT:key/ID, not an alias",
)
