"""Whether a call came over HTTPS, as far as the gateway was told to believe it."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, get_args

SecureCalls = Literal["never", "forwarded", "always"]
CHOICES: Final[tuple[str, ...]] = get_args(SecureCalls)


def secure(told: SecureCalls) -> Callable[[Mapping[str, Any], Mapping[str, str]], bool]:
    """Tell it of an ASGI scope and its headers.

    `never` believes the connection alone, `forwarded` also who stands in front of the gateway and
    says `X-Forwarded-Proto: https`, and `always` is for a gateway that nobody reaches otherwise.
    """

    def is_secure(scope: Mapping[str, Any], headers: Mapping[str, str]) -> bool:
        if told == "always" or scope.get("scheme") == "https":
            return True
        # Whoever is nearest says it last: what a client wrote itself stands before it.
        said = headers.get("x-forwarded-proto", "").rpartition(",")[2].strip().lower()
        return told == "forwarded" and said == "https"

    return is_secure
