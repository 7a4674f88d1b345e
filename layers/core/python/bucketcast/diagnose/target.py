"""Look at a target from its own function, step by step, without sending or changing anything."""

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from bucketcast.delivery.redaction import shortened, without_secrets
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
    """Return what each step found, up to the first that failed; subjects are left out."""
    try:
        target = connect(True)  # noqa: FBT003 - dispatch calls it by position
    except DeliveryError as error:
        return [_clean(_refused("settings", error), ())]
    with target:
        secrets = secret_values(target.settings)
        return [_clean(each, secrets) for each in _steps(target)]


def _steps(target: Target) -> Iterator[Finding]:
    try:
        endpoints = target.endpoints()
    except DeliveryError as error:
        yield _refused("settings", error)
        return
    except ValueError:  # which may repeat a part of a URL with its login
        yield Finding("settings", "", "error", "the address cannot be read", _HINTS["settings"])
        return
    yield Finding("settings", "", "ok", "valid, with their secrets")
    with ThreadPoolExecutor(max(1, len(endpoints))) as pool:
        network = list(pool.map(lambda each: list(_network(each)), endpoints))
    reachable = not network or any(_is_fine(findings) for findings in network)
    for findings in network:
        yield from findings if not reachable or _is_fine(findings) else map(_spared, findings)
    if not reachable:
        return
    for check, step in (("login", target.login), ("access", target.probe)):
        try:
            step()
        except DeliveryError as error:
            yield _refused(check, error)
            return
        yield Finding(check, "", "ok", target.where)


def _network(endpoint: Endpoint) -> Iterator[Finding]:
    check = "dns"
    try:
        yield Finding(check, "", "ok", endpoint.resolve())
        check = "tcp"
        yield Finding(check, "", "ok", endpoint.reach())
        check = "tls"
        found, days = endpoint.encrypt()
    except FaultError as error:
        yield Finding(check, "", "error", str(error), error.hint)
        return
    if days is not None and days < EXPIRES_SOON_DAYS:
        hint = "renew the server's certificate before then: afterwards nothing is delivered"
        yield Finding(check, "", "warn", f"{endpoint}: {found}, in {days:.0f} days", hint)
    else:
        yield Finding(check, "", "ok", found)


def _is_fine(findings: Sequence[Finding]) -> bool:
    return all(each.status != "error" for each in findings)


def _spared(finding: Finding) -> Finding:
    """Return a fault of one server of several as a warning: another one answers."""
    if finding.status != "error":
        return finding
    return Finding(finding.check, "", "warn", finding.found, finding.hint)


def _refused(check: str, error: DeliveryError) -> Finding:
    found = str(error).removesuffix(error.hint).rstrip(" :;") if error.hint else str(error)
    return Finding(check, "", "error", found, error.hint or _HINTS[check])


def _clean(finding: Finding, secrets: Collection[str]) -> Finding:
    """Hide secrets, whatever a library or a server says of them, and shorten what is long."""
    found, hint = (without_secrets(text, secrets) for text in (finding.found, finding.hint))
    return Finding(finding.check, "", finding.status, shortened(found), hint)
