"""What a target's settings leave open on the way: what is refused on AWS, and what is only noted.

Only a certificate distinguishes a server from one that stands in between. MinIO checks none where
`tls_skip_verify` is on, and says nothing; here it has to be said twice, once where it is MinIO's
and once in a table that is ours: the target's deploy table, or for targets made at run time the
table `[dynamic_targets]`, so that whoever deploys has allowed it.
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
"""Options that go out with every request, by the kinds that speak HTTP."""
_URLS: Final[Mapping[str, str]] = {"webhook": "endpoint", "elasticsearch": "url"}


def validation_errors(
    where: str, settings: Mapping[str, str], table: str, *, is_said_there: bool, then: str = ""
) -> Iterator[ConfigError]:
    """Yield the settings that are refused on AWS; `where` is the target's table.

    `table` is the one in which it has to be said again, and `then` what is to be done after that.
    """
    if _on(settings, SKIP) and not is_said_there:
        yield ConfigError(f"{where}.{SKIP}", "found 'on'", _HINT.format(SKIP, table, then))


def notes(kind: str, where: str, settings: Mapping[str, str]) -> Iterator[str]:
    """Yield notes on insecure settings that are accepted on AWS."""
    if _on(settings, SKIP):
        yield f"{where}.{SKIP}: whoever stands between can read and change all that is sent"
    if kind in _URLS and settings.get(_URLS[kind], "").lower().startswith("http://"):
        sent = " and ".join(key for key in _LOGINS[kind] if settings.get(key))
        if sent:
            yield f"{where}.{_URLS[kind]}: is http://, {_IN_THE_CLEAR.format(sent)}"
    if kind == "redis" and not _on(settings, "tls"):
        yield f"{where}.tls: is off, {_IN_THE_CLEAR.format('the password')}"
    if settings.get("auth", "").lower() == "iam":
        return  # which is TLS, verified
    if kind == "postgres" and "sslmode=verify-" not in settings.get("connection_string", ""):
        yield (
            f"{where}.connection_string: unless it says sslmode=verify-full, with sslrootcert, "
            "the connection is encrypted (sslmode=require) to whoever answers"
        )
    trusts = settings.get("cert_authority") or settings.get("client_cert")
    if kind == "mysql" and not trusts and "tls=true" not in settings.get("dsn_string", ""):
        yield (
            f"{where}.dsn_string: unless it says tls=true, nothing is encrypted, "
            f"{_IN_THE_CLEAR.format('rows')}"
        )


def _on(settings: Mapping[str, str], key: str) -> bool:
    return settings.get(key, "").lower() in ("on", "true")
