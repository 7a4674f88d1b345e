"""What an error of a call of AWS says."""

import re
from http import HTTPStatus
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

_ITS_OWN: Final = re.compile(
    "Thrott|Throughput|TooMany|LimitExceeded|SlowDown|InProgress|NotComplete"
    "|Internal|Unavailable|RequestTimeout"
)
"""In the codes of what a service answers when it does not look at what it is asked for."""


def is_no_answer(error: Exception) -> bool:
    """Return True if an error says nothing about what was asked for: a later try may succeed."""
    if isinstance(error, ClientError):
        # An answer without JSON or XML, as of a load balancer, has its status as its code.
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        code = error.response.get("Error", {}).get("Code", "")
        return status >= HTTPStatus.INTERNAL_SERVER_ERROR or bool(_ITS_OWN.search(code))
    return isinstance(error, BotoCoreError) and not isinstance(error, ParamValidationError)
