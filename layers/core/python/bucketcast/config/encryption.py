"""Check a target's settings for transport without encryption or verification.

On AWS some insecure settings are refused, others only noted. Only a certificate distinguishes a
server from an attacker in between. With `tls_skip_verify` MinIO silently verifies nothing; here it
has to be set twice: in the target's own table, and by the deployer in the target's deploy table, or
in `[dynamic_targets]` for dynamic targets.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from bucketcast.errors import ConfigError

SKIP: Final = "tls_skip_verify"
_HINT: Final = (
    'set cert_authority; to skip verification on AWS, confirm it with {0} = "on" in [{1}]{2}'
)
_IN_THE_CLEAR: Final = "so that events and {0} can be read on the way"
_LOGINS: Final[Mapping[str, tuple[str, ...]]] = {
    "webhook": ("auth_token",),
    "elasticsearch": ("password", "api_key"),
}
"""Credentials that each request carries, by the kinds that use HTTP."""
_URLS: Final[Mapping[str, str]] = {"webhook": "endpoint", "elasticsearch": "url"}


def validation_errors(
    where: str, settings: Mapping[str, str], table: str, *, confirmed: bool, hint: str = ""
) -> Iterator[ConfigError]:
    """Yield the settings that are refused on AWS; `where` is the target's table.

    `table` is the one in which it has to be confirmed, and `hint` the step to take after that.
    """
    if _on(settings, SKIP) and not confirmed:
        yield ConfigError(f"{where}.{SKIP}", "found 'on'", _HINT.format(SKIP, table, hint))


def notes(kind: str, where: str, settings: Mapping[str, str]) -> Iterator[str]:
    """Yield notes on insecure settings that are accepted on AWS."""
    if _on(settings, SKIP):
        yield f"{where}.{SKIP}: an attacker in between can read and change all that is sent"
    if kind in _URLS and settings.get(_URLS[kind], "").lower().startswith("http://"):
        credentials = " and ".join(key for key in _LOGINS[kind] if settings.get(key))
        if credentials:
            yield f"{where}.{_URLS[kind]}: is http://, {_IN_THE_CLEAR.format(credentials)}"
    if kind == "redis" and not _on(settings, "tls"):
        yield f"{where}.tls: is off, {_IN_THE_CLEAR.format('the password')}"
    if settings.get("auth", "").lower() == "iam":
        return  # always verified TLS
    is_verified = "sslmode=verify-" in settings.get("connection_string", "")
    if kind == "postgres" and not is_verified and not settings.get("cert_authority"):
        yield (
            f"{where}.connection_string: without sslmode=verify-full or cert_authority, "
            "the connection is encrypted (sslmode=require) to a server that is not verified"
        )
    trusts = settings.get("cert_authority") or settings.get("client_cert")
    if kind == "mysql" and not trusts and "tls=true" not in settings.get("dsn_string", ""):
        yield (
            f"{where}.dsn_string: unless it says tls=true, nothing is encrypted, "
            f"{_IN_THE_CLEAR.format('rows')}"
        )


def _on(settings: Mapping[str, str], key: str) -> bool:
    return settings.get(key, "").lower() in ("on", "true")
