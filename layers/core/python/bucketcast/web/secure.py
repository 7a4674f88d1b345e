"""Decide if a call came over HTTPS, by the gateway's option."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, get_args

SecureCalls = Literal["never", "forwarded", "always"]
IsSecure = Callable[[Mapping[str, Any], Mapping[str, str]], bool]
"""Returns True if an ASGI scope with these headers is secure."""
CHOICES: Final[tuple[str, ...]] = get_args(SecureCalls)


def secure(setting: SecureCalls) -> IsSecure:
    """Return the decision for a setting.

    `never` trusts the connection alone, `forwarded` also a proxy's `X-Forwarded-Proto: https`, and
    `always` is for a gateway that is reachable over HTTPS only.
    """

    def is_secure(scope: Mapping[str, Any], headers: Mapping[str, str]) -> bool:
        if setting == "always" or scope.get("scheme") == "https":
            return True
        # The nearest proxy's value is the last: a client's own comes before it.
        proto = headers.get("x-forwarded-proto", "").rpartition(",")[2].strip().lower()
        return setting == "forwarded" and proto == "https"

    return is_secure
