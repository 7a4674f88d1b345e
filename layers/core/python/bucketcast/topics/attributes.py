"""The attributes of a topic: their names, their allowed values, and which are secret.

Ceph accepts most of them unchecked and fails at the first event; here invalid ones are refused.
Attributes that Ceph does not know are kept and shown, as it does.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from bucketcast.topics.address import Address, address
from bucketcast.topics.errors import TopicError, invalid
from bucketcast.topics.model import ENDPOINT, OWN
from bucketcast.topics.policy import Policy

USER: Final = "user-name"
PASSWORD: Final = "password"  # noqa: S105 - the name of an attribute
BROKERS: Final = "kafka-brokers"
_LOGIN: Final = frozenset({USER, PASSWORD})
_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "amqp-ack-level": ("none", "broker", "routable"),
    "amqp-version": ("0-9-1",),
    "kafka-ack-level": ("none", "broker"),
    "mechanism": ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
}
_SWITCHES: Final = frozenset({"cloudevents", "persistent", "use-ssl", "verify-ssl"})
_NUMBERS: Final = frozenset({"max_retries", "retry_sleep_duration", "time_to_live"})
_TEXTS: Final = frozenset({"amqp-exchange", "ca-location", "http-ack-level", BROKERS})
KNOWN: Final = OWN | _LOGIN | _SWITCHES | _NUMBERS | _TEXTS | _WORDS.keys()
"""What may be given as a parameter of its own, and changed one by one."""
_TRUE: Final = ("true", "1")
_FALSE: Final = ("false", "0")
_INHERITED: Final = ("", "none")
_LARGEST: Final = 2**31 - 1
_MOST_BYTES: Final = 200_000
"""An item of DynamoDB is 400 KB at most, a certificate of `ca-location` included."""
_MOST_SECRET: Final = 16_384
"""A secret of Secrets Manager is 64 KiB at most, and a target's holds the certificates, too."""
_LONGEST_ENDPOINT: Final = 8_192
_PEM: Final = "-----BEGIN CERTIFICATE-----"
CERTIFICATE: Final = "a certificate as PEM text, or its path on the gateway's machine"
_HTTP_ACK: Final = re.compile(r"any|non-error|[1-5][0-9]{2}")


@dataclass(frozen=True, slots=True)
class TopicAttributes:
    """Valid attributes: those that may be shown, and those that hold a login.

    Merged, `hidden` last, they are all that was given. `authority` is the certificate at the path
    `ca-location`, if it is one.
    """

    shown: dict[str, str]
    hidden: dict[str, str] = field(repr=False)
    authority: str = ""


def no_file(path: str) -> str:
    """Refuse the path of a certificate that cannot be read."""
    raise invalid("ca-location", repr(path[:200]), CERTIFICATE)


def checked(
    given: Mapping[str, str], certificate: Callable[[str], str] = no_file
) -> TopicAttributes:
    """Validate attributes; `certificate` reads the certificate at the path `ca-location`.

    Raises:
        TopicError: they are invalid; its text holds no password.
    """
    _require_size("Attributes", given, _MOST_BYTES)
    _require_size("the login", {key: given[key] for key in _LOGIN & given.keys()}, _MOST_SECRET)
    if len(given.get(ENDPOINT, "")) > _LONGEST_ENDPOINT:
        raise invalid(ENDPOINT, "more", f"at most {_LONGEST_ENDPOINT:,} characters")
    values = {key: _value(key, text) for key, text in given.items()}
    values = {key: text for key, text in values.items() if text or key not in OWN | _NUMBERS}
    if text := values.get("Policy"):
        Policy.parse(text)
    where = address(values[ENDPOINT]) if ENDPOINT in values else None
    _require_login(where, values)
    if where is not None:
        _require_consistent(where, values)
    hidden = {key: values[key] for key in _LOGIN if values.get(key)}
    shown = {key: text for key, text in values.items() if key not in _LOGIN}
    if where is not None and where.user:
        hidden[ENDPOINT] = values[ENDPOINT]
        shown[ENDPOINT] = where.without_login
    authority = values.get("ca-location", "")
    is_path = authority and _PEM not in authority
    return TopicAttributes(shown, hidden, certificate(authority) if is_path else "")


def has_login(given: Mapping[str, str]) -> bool:
    """Return whether attributes, valid or not, hold what must only be sent over HTTPS."""
    where = given.get(ENDPOINT, "").partition("://")[2].partition("/")[0]
    return any(given.get(key) for key in _LOGIN) or "@" in where


def login(values: Mapping[str, str]) -> tuple[str, str]:
    """Return user and password of valid attributes: their own, else those of the URL, or ""."""
    where = address(values[ENDPOINT])
    if values.get(USER):
        return values[USER], values[PASSWORD]
    return where.user, where.password


def _require_size(what: str, given: Mapping[str, str], most: int) -> None:
    """Raise a TopicError if attributes are too large in the format they are stored in, JSON."""
    try:
        size = len(msgspec.json.encode(dict(given)))
    except UnicodeEncodeError:
        raise invalid(what, "half of a surrogate pair", "text that UTF-8 can write") from None
    if size > most:
        raise invalid(what, f"{size:,} bytes as JSON", f"at most {most:,}")


def _value(key: str, text: str) -> str:
    """Return the normalized value of an attribute."""
    if key in _SWITCHES:
        lower = text.strip().lower()
        if lower not in (*_TRUE, *_FALSE):
            raise invalid(key, repr(text), "true or false")
        return "true" if lower in _TRUE else "false"
    if key in _NUMBERS:
        return _number(key, text)
    if key in _WORDS and text not in _WORDS[key]:
        raise invalid(key, repr(text), " or ".join(_WORDS[key]))
    if key == "http-ack-level" and not _HTTP_ACK.fullmatch(text):
        raise invalid(key, repr(text), "any, non-error or a status, 100 to 599")
    return text


def _number(key: str, text: str) -> str:
    stripped = text.strip()
    if stripped.lower() in _INHERITED:
        return ""
    if not re.fullmatch(r"[0-9]{1,10}", stripped) or int(stripped) > _LARGEST:
        raise invalid(key, repr(text[:100]), f"a whole number, 0 to {_LARGEST}, or None")
    return str(int(stripped))


def _require_login(where: Address | None, values: Mapping[str, str]) -> None:
    if bool(values.get(USER)) != bool(values.get(PASSWORD)):
        present, missing = (USER, PASSWORD) if values.get(USER) else (PASSWORD, USER)
        raise TopicError("InvalidArgument", f"{missing}: missing beside {present}")
    if values.get(USER) and (where is None or where.kind != "kafka"):
        allowed = "a kafka:// push-endpoint beside it; others have it in the URL"
        raise TopicError("InvalidArgument", f"{USER}: {allowed}")


def _require_consistent(where: Address, values: Mapping[str, str]) -> None:
    """Raise a TopicError if attributes contradict the endpoint."""
    if where.kind == "amqp" and not values.get("amqp-exchange"):
        raise TopicError("InvalidArgument", "amqp-exchange: missing; AMQP endpoints need it")
    if where.kind == "kafka":
        has_user = bool(where.user or values.get(USER))
        if has_user and values.get("use-ssl") != "true":
            allowed = "use-ssl=true beside it: the password would go to the broker in the clear"
            raise TopicError("InvalidArgument", f"{USER}: allowed is {allowed}")
        if where.path not in ("", "/"):
            raise invalid(ENDPOINT, "a path", "kafka://[USER:PASSWORD@]HOST[:PORT]")
