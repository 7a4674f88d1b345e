"""The types of options: the text that each one allows, and the value it stands for."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NewType
from urllib.parse import urlsplit

from bucketcast.errors import did_you_mean

REFERENCE = "secret:"
Address = NewType("Address", str)
Csv = NewType("Csv", tuple)  # type: ignore[type-arg]  # of str
Duration = NewType("Duration", float)
OnOff = NewType("OnOff", bool)
Pem = NewType("Pem", str)
Seconds = NewType("Seconds", float)
Url = NewType("Url", str)
WholeSeconds = NewType("WholeSeconds", int)
Parse = Callable[[str], Any]
"""Returns the value of a text, or raises ValueError with what is allowed."""
_LAST_PORT = 65_535
_UNITS = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86400.0,
}
_SEED = re.compile(r"\bSU[A-Z2-7]{56}\b")


class Secret:
    """Text that must not be shown: only `reveal()` returns it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return "***" if self._text else "''"


class LoginUrl(Secret):
    """A URL that is secret only if it contains a login."""


class SecretPem(Secret):
    """A private key in PEM, as text or as the path of a file."""


class SecretSeed(Secret):
    """The seed of a user's NKEY, as text or as the path of a file."""


def on_off(text: str) -> OnOff:
    words = {"on": True, "true": True, "off": False, "false": False}
    if text.lower() not in words:
        raise ValueError("on or off")
    return OnOff(words[text.lower()])


def integer(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise ValueError("a whole number, 0 or more")
    return int(text)


def positive(text: str) -> int | None:
    """Return a number, or None for 0: no limit."""
    return integer(text) or None


def duration(text: str) -> Duration:
    """Return the seconds of a Go duration such as `10s`, `1m30s` or `500ms`; `1d` is a day."""
    if text == "0":
        return Duration(0.0)
    parts = re.findall(r"([0-9]+(?:\.[0-9]+)?)(ns|us|µs|ms|s|m|h|d)", text)
    if not parts or "".join(map("".join, parts)) != text:
        raise ValueError("a duration with its unit, such as 10s, 1m30s or 500ms")
    return Duration(sum(float(number) * _UNITS[unit] for number, unit in parts))


def whole_seconds(text: str) -> WholeSeconds:
    """Return the seconds of a duration; AWS has no fractions of them in most places."""
    value = duration(text)
    if value % 1:
        raise ValueError("whole seconds, such as 10s or 1m30s")
    return WholeSeconds(int(value))


def seconds(text: str) -> Seconds:
    """Return the seconds of a duration, or of a plain number as in older configurations."""
    if re.fullmatch(r"[0-9]{1,9}", text):
        return Seconds(float(text))
    try:
        return Seconds(float(duration(text)))
    except ValueError as error:
        raise ValueError(f"{error}, or a number of seconds") from None


def time(text: str) -> datetime:
    """Return the UTC of a time in ISO 8601; without an offset it is UTC, a date its beginning."""
    try:
        at = datetime.fromisoformat(text)
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # year 0 or 10,000 in UTC
        raise ValueError(
            "a date or a time, in UTC unless it has an offset, such as 2026-03-14 or "
            "2026-03-14T09:30:00+01:00"
        ) from None


def csv(text: str) -> Csv:
    return Csv(tuple(part.strip() for part in text.split(",") if part.strip()))


def url(text: str) -> Url:
    """Validate an http or https URL without a login, which would be a secret in plain text."""
    try:
        parts = urlsplit(text)
        ok = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        ok = False
    if not ok or re.search(r"[\s\x00-\x1f]", text):
        raise ValueError("an http:// or https:// URL with a host")
    if parts.username or parts.password:
        raise ValueError(
            "a URL without user and password: the login goes where the target has an option for it"
        )
    return Url(text)


def login_url(text: str) -> LoginUrl:
    """Validate a URL with a percent-encoded login; the target checks the scheme."""
    try:
        parts = urlsplit(text)
        ok = not text or (parts.scheme and parts.hostname and parts.port != 0)
    except ValueError:
        ok = False
    if "@" in re.sub(r"//[^/?#]*", "", text, count=1):  # behind what was taken for the host
        raise ValueError("a URL whose user and password are percent-encoded: / is %2F, @ is %40")
    if not ok or re.search(r"[\s\x00-\x1f]", text):
        raise ValueError("a URL with a scheme and a host, such as scheme://user:password@host:port")
    return LoginUrl(text)


def address(text: str) -> Address:
    """Validate a host, or an IPv6 address in brackets, with or without a port."""
    match = re.fullmatch(r"(?:\[[0-9A-Fa-f:.]+\]|[^\s/@:\[\]]*)(?::([0-9]{1,5}))?", text)
    if not text or not match or int(match[1] or 0) > _LAST_PORT:
        raise ValueError("host:port, such as localhost:6379")
    return Address(text)


def pem(text: str) -> Pem:
    if text and "-----BEGIN " not in text and not text.startswith(REFERENCE):
        raise ValueError("PEM text that begins with -----BEGIN, or the path of such a file")
    return Pem(text)


def pem_key(text: str) -> SecretPem:
    return SecretPem(pem(text))


def seed(text: str) -> SecretSeed:
    """Validate a seed, alone or between the lines that NATS's tools put around it."""
    if text and not _SEED.search(text):
        raise ValueError("a user's NKEY seed, which begins with SU, or the path of such a file")
    return SecretSeed(text)


def is_seed(text: str) -> bool:
    return _SEED.fullmatch(text) is not None


TYPES: Mapping[Any, tuple[str, Parse]] = {
    str: ("string", str),
    str | None: ("string", lambda text: text or None),
    int: ("number", integer),
    int | None: ("number", positive),
    datetime | None: ("time", time),
    Address: ("address", address),
    Csv: ("csv", csv),
    Duration: ("duration", duration),
    LoginUrl: ("url with login", login_url),
    OnOff: ("on|off", on_off),
    Pem: ("pem", pem),
    Seconds: ("duration or seconds", seconds),
    Secret: ("secret", Secret),
    SecretPem: ("secret pem", pem_key),
    SecretSeed: ("secret seed", seed),
    Url: ("url", url),
    WholeSeconds: ("whole seconds", whole_seconds),
}
"""The name of each type in help and docs, and the parser of its text."""


def choice(choices: Iterable[str]) -> Callable[[str], str]:
    """Return the parser of one of these words, in any case."""
    spelled = {choice.lower(): choice for choice in choices}

    def parse(text: str) -> str:
        if text.lower() not in spelled:
            near = did_you_mean(text.lower(), spelled).rstrip()
            raise ValueError(
                f"one of {', '.join(spelled.values())}" + (f" ({near})" if near else "")
            )
        return spelled[text.lower()]

    return parse


def matching(pattern: str, allowed: str) -> Callable[[str], str]:
    """Return the parser of text with this pattern; a `{}` in what is allowed is the text."""
    compiled = re.compile(pattern)

    def parse(text: str) -> str:
        if not compiled.fullmatch(text):
            raise ValueError(allowed.replace("{}", text))
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
