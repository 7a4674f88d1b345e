"""Probe a target from its own function, step by step, without sending or changing anything."""

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from bucketcast.delivery.redaction import hide_secrets, shorten
from bucketcast.errors import DeliveryError
from bucketcast.finding import Finding
from bucketcast.settings.secret_values import secret_values
from bucketcast.targets.base import Target
from bucketcast.targets.base.endpoint import Endpoint, FaultError

EXPIRES_SOON_DAYS: Final = 14
_HINTS: Final = {
    "settings": "correct the setting, or the secret it refers to",
    "login": "correct the user or the password in the settings, or in the secret they refer to",
    "access": "see what the server says",
}
Connect = Callable[[bool], Target]


def diagnose(connect: Connect) -> list[Finding]:
    """Return each step's finding, up to the first that failed, without subjects."""
    try:
        target = connect(True)  # noqa: FBT003 - dispatch calls it by position
    except DeliveryError as error:
        return [_clean(_error_finding("settings", error), ())]
    with target:
        secrets = secret_values(target.settings)
        return [_clean(finding, secrets) for finding in _steps(target)]


def _steps(target: Target) -> Iterator[Finding]:
    try:
        endpoints = target.endpoints()
    except DeliveryError as error:
        yield _error_finding("settings", error)
        return
    except ValueError:  # its text may contain the login of a URL
        yield Finding("settings", "", "error", "the address cannot be read", _HINTS["settings"])
        return
    yield Finding("settings", "", "ok", "valid, with their secrets")
    with ThreadPoolExecutor(max(1, len(endpoints))) as pool:
        network = list(pool.map(lambda endpoint: list(_network(endpoint)), endpoints))
    reachable = not network or any(_is_ok(findings) for findings in network)
    for findings in network:
        yield from findings if not reachable or _is_ok(findings) else map(_as_warning, findings)
    if not reachable:
        return
    for check, step in (("login", target.login), ("access", target.probe)):
        try:
            step()
        except DeliveryError as error:
            yield _error_finding(check, error)
            return
        yield Finding(check, "", "ok", target.where)


def _network(endpoint: Endpoint) -> Iterator[Finding]:
    check = "dns"
    try:
        yield Finding(check, "", "ok", endpoint.resolve())
        check = "tcp"
        yield Finding(check, "", "ok", endpoint.reach())
        check = "tls"
        result, days = endpoint.encrypt()
    except FaultError as error:
        yield Finding(check, "", "error", str(error), error.hint)
        return
    if days is not None and days < EXPIRES_SOON_DAYS:
        hint = "renew the server's certificate before then: afterwards nothing is delivered"
        yield Finding(check, "", "warn", f"{endpoint}: {result}, in {days:.0f} days", hint)
    else:
        yield Finding(check, "", "ok", result)


def _is_ok(findings: Sequence[Finding]) -> bool:
    return all(finding.status != "error" for finding in findings)


def _as_warning(finding: Finding) -> Finding:
    """Return a fault of one of several servers as a warning: another one answers."""
    if finding.status != "error":
        return finding
    return Finding(finding.check, "", "warn", finding.found, finding.hint)


def _error_finding(check: str, error: DeliveryError) -> Finding:
    problem = str(error).removesuffix(error.hint).rstrip(" :;") if error.hint else str(error)
    return Finding(check, "", "error", problem, error.hint or _HINTS[check])


def _clean(finding: Finding, secrets: Collection[str]) -> Finding:
    """Hide secrets that a library or a server may repeat, and shorten long texts."""
    found, hint = (hide_secrets(value, secrets) for value in (finding.found, finding.hint))
    return Finding(finding.check, "", finding.status, shorten(found), hint)
