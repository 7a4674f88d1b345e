"""The attributes of a topic: names, allowed values, and those that are secret.

Ceph accepts most values unchecked and fails at the first event; this module refuses invalid ones.
It keeps and shows attributes that Ceph does not know, as Ceph does.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from bucketcast.limits import MOST_ATTRIBUTES_BYTES, MOST_ENDPOINT_CHARACTERS, MOST_LOGIN_BYTES
from bucketcast.state.items import ENDPOINT, OWN
from bucketcast.topics.address import Address, parse_address
from bucketcast.topics.errors import TopicError, invalid
from bucketcast.topics.policy import Policy

USER: Final = "user-name"
PASSWORD: Final = "password"  # noqa: S105 - the name of an attribute
BROKERS: Final = "kafka-brokers"
TLS: Final = "use-ssl"
_LOGIN: Final = frozenset({USER, PASSWORD})
HIDDEN: Final = _LOGIN | {ENDPOINT}
"""Attributes that may hold a login."""
_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "amqp-ack-level": ("none", "broker", "routable"),
    "amqp-version": ("0-9-1",),
    "kafka-ack-level": ("none", "broker"),
    "mechanism": ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
}
_SWITCHES: Final = frozenset({"cloudevents", "persistent", TLS, "verify-ssl"})
_NUMBERS: Final = frozenset({"max_retries", "retry_sleep_duration", "time_to_live"})
_TEXTS: Final = frozenset({"amqp-exchange", "ca-location", BROKERS})
KNOWN: Final = OWN | _LOGIN | _SWITCHES | _NUMBERS | _TEXTS | _WORDS.keys()
"""Attributes that may be parameters with their own name, and may be changed one by one."""
_TRUE: Final = ("true", "1")
_FALSE: Final = ("false", "0")
_INHERITED: Final = ("", "none")
_LARGEST: Final = 2**31 - 1
_PEM: Final = "-----BEGIN CERTIFICATE-----"


@dataclass(frozen=True, slots=True)
class TopicAttributes:
    """Valid attributes: those that may be shown, and those that hold a login.

    `shown | hidden` are all attributes that the user set.
    """

    shown: dict[str, str]
    hidden: dict[str, str] = field(repr=False)


def parse_attributes(attributes: Mapping[str, str]) -> TopicAttributes:
    """Validate attributes.

    Raises:
        TopicError: an attribute is invalid; the text holds no password.
    """
    _require_size("Attributes", attributes, MOST_ATTRIBUTES_BYTES)
    login_alone = {key: attributes[key] for key in _LOGIN & attributes.keys()}
    _require_size("the login", login_alone, MOST_LOGIN_BYTES)
    if len(attributes.get(ENDPOINT, "")) > MOST_ENDPOINT_CHARACTERS:
        raise invalid(ENDPOINT, "more", f"at most {MOST_ENDPOINT_CHARACTERS:,} characters")
    values = {key: _normalize(key, text) for key, text in attributes.items()}
    values = {key: text for key, text in values.items() if text or key not in OWN | _NUMBERS}
    if text := values.get("Policy"):
        Policy.parse(text)
    endpoint = parse_address(values[ENDPOINT]) if ENDPOINT in values else None
    _require_login(endpoint, values)
    if endpoint is not None:
        _require_consistent(endpoint, values)
    hidden = {key: values[key] for key in _LOGIN if values.get(key)}
    shown = {key: text for key, text in values.items() if key not in _LOGIN}
    if endpoint is not None and endpoint.user:
        hidden[ENDPOINT] = values[ENDPOINT]
        shown[ENDPOINT] = endpoint.without_login
    authority = values.get("ca-location", "")
    if authority and _PEM not in authority:
        raise invalid("ca-location", repr(authority[:200]), "a certificate as PEM text")
    return TopicAttributes(shown, hidden)


def has_login(attributes: Mapping[str, str]) -> bool:
    """Return True if attributes, valid or not, hold a login, which needs HTTPS."""
    authority = attributes.get(ENDPOINT, "").partition("://")[2].partition("/")[0]
    return any(attributes.get(key) for key in _LOGIN) or "@" in authority


def login(values: Mapping[str, str]) -> tuple[str, str]:
    """Return user and password of valid attributes, else those of the URL, else ""."""
    endpoint = parse_address(values[ENDPOINT])
    if values.get(USER):
        return values[USER], values[PASSWORD]
    return endpoint.user, endpoint.password


def _require_size(name: str, attributes: Mapping[str, str], limit: int) -> None:
    """Raise a TopicError if attributes are too large as JSON, the format of the table."""
    try:
        size = len(msgspec.json.encode(dict(attributes)))
    except UnicodeEncodeError:
        raise invalid(name, "half of a surrogate pair", "text that UTF-8 can write") from None
    if size > limit:
        raise invalid(name, f"{size:,} bytes as JSON", f"at most {limit:,}")


def _normalize(key: str, value: str) -> str:
    """Return the normalized value of an attribute."""
    if key in _SWITCHES:
        lower = value.strip().lower()
        if lower not in (*_TRUE, *_FALSE):
            raise invalid(key, repr(value), "true or false")
        return "true" if lower in _TRUE else "false"
    if key in _NUMBERS:
        return _normalize_number(key, value)
    if key in _WORDS and value not in _WORDS[key]:
        raise invalid(key, repr(value), " or ".join(_WORDS[key]))
    return value


def _normalize_number(key: str, value: str) -> str:
    stripped = value.strip()
    if stripped.lower() in _INHERITED:
        return ""
    if not re.fullmatch(r"[0-9]{1,10}", stripped) or int(stripped) > _LARGEST:
        raise invalid(key, repr(value[:100]), f"a whole number, 0 to {_LARGEST}, or None")
    return str(int(stripped))


def _require_login(endpoint: Address | None, values: Mapping[str, str]) -> None:
    if bool(values.get(USER)) != bool(values.get(PASSWORD)):
        given, missing = (USER, PASSWORD) if values.get(USER) else (PASSWORD, USER)
        raise TopicError("InvalidArgument", f"{missing}: missing beside {given}")
    if values.get(USER) and (endpoint is None or endpoint.kind != "kafka"):
        allowed = "a kafka:// push-endpoint beside it; others have it in the URL"
        raise TopicError("InvalidArgument", f"{USER}: {allowed}")


def _require_consistent(endpoint: Address, values: Mapping[str, str]) -> None:
    """Raise a TopicError if attributes contradict the endpoint."""
    if endpoint.kind == "amqp" and not values.get("amqp-exchange"):
        raise TopicError("InvalidArgument", "amqp-exchange: missing; AMQP endpoints need it")
    if endpoint.kind == "kafka" and endpoint.path not in ("", "/"):
        raise invalid(ENDPOINT, "a path", "kafka://[USER:PASSWORD@]HOST[:PORT]")
