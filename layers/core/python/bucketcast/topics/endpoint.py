"""The target of a topic's endpoint: its kind, and the settings that the kind declares."""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from bucketcast.limits import ONCE_SEND_SECONDS
from bucketcast.topics.address import Address, parse_address
from bucketcast.topics.attributes import TLS, login
from bucketcast.topics.model import ENDPOINT, Topic

_MECHANISMS: Final = {
    "PLAIN": "plain",
    "SCRAM-SHA-256": "scram-sha-256",
    "SCRAM-SHA-512": "scram-sha-512",
}


@dataclass(frozen=True, slots=True)
class PushTarget:
    """The target that a topic's events are pushed to.

    `settings` are for `bucketcast.dynamic_targets.validation` and hold the login in the clear.
    """

    kind: str
    settings: dict[str, str] = field(repr=False)


def push_target(topic: Topic, hidden: Mapping[str, str]) -> PushTarget | None:
    """Return the target of a topic; None if its events are not pushed.

    `hidden` are the fields of its secret. Events are Ceph's records with the topic's `OpaqueData`,
    over HTTP also with CloudEvents headers if `cloudevents` is set.
    """
    if not topic.endpoint:
        return None
    values = {**topic.attributes, **hidden}
    endpoint = parse_address(values[ENDPOINT])
    settings = {"shape": "ceph", "opaque_data": topic.opaque_data}
    settings |= _BY_KIND[endpoint.kind](topic, endpoint, values)
    return PushTarget(endpoint.kind, {key: text for key, text in settings.items() if text})


def _webhook(topic: Topic, endpoint: Address, values: Mapping[str, str]) -> dict[str, str]:
    token = ""
    if endpoint.user:
        pair = f"{unquote(endpoint.user)}:{unquote(endpoint.password)}"
        token = f"Basic {base64.b64encode(pair.encode()).decode()}"
    secure = endpoint.scheme == "https"
    return {
        "endpoint": endpoint.without_login,
        "cloudevents": "on" if values.get("cloudevents") == "true" else "",
        "auth_token": token,
        "timeout": "" if topic.persistent else f"{ONCE_SEND_SECONDS:g}s",
        "cert_authority": values.get("ca-location", "") if secure else "",
        "tls_skip_verify": _skip_verify(values) if secure else "",
    }


def _amqp(topic: Topic, endpoint: Address, values: Mapping[str, str]) -> dict[str, str]:
    ack = values.get("amqp-ack-level", "broker")
    secure = endpoint.scheme == "amqps"
    user, password = login(values)
    login_part = f"{user}:{password}@" if user else ""
    return {
        "url": f"{endpoint.scheme}://{login_part}{endpoint.host_and_port}{endpoint.path}",
        "exchange": values["amqp-exchange"],
        "routing_key": topic.name,
        "mandatory": "on" if ack == "routable" else "off",
        "delivery_mode": "1" if ack == "none" else "2",
        "ack": "none" if ack == "none" else "",
        "cert_authority": values.get("ca-location", "") if secure else "",
        "tls_skip_verify": _skip_verify(values) if secure else "",
    }


def _kafka(topic: Topic, endpoint: Address, values: Mapping[str, str]) -> dict[str, str]:
    secure = values.get(TLS) == "true"
    user, password = login(values)
    settings = {
        "brokers": ",".join(
            filter(None, (endpoint.host_and_port, values.get("kafka-brokers", "")))
        ),
        "topic": topic.name,
        "ack": "none" if values.get("kafka-ack-level") == "none" else "",
        "tls": "on" if secure else "off",
        "cert_authority": values.get("ca-location", "") if secure else "",
        "tls_skip_verify": _skip_verify(values) if secure else "",
    }
    if user:
        settings |= {
            "sasl": "on",
            "sasl_username": user,
            "sasl_password": password,
            "sasl_mechanism": _MECHANISMS[values.get("mechanism", "PLAIN")],
        }
    return settings


def _skip_verify(values: Mapping[str, str]) -> str:
    return "on" if values.get("verify-ssl") == "false" else ""


_BY_KIND: Final[Mapping[str, Callable[[Topic, Address, Mapping[str, str]], dict[str, str]]]] = {
    "webhook": _webhook,
    "amqp": _amqp,
    "kafka": _kafka,
}
