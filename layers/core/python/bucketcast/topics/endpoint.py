"""The target that a topic becomes: a kind, and its settings as the kind declares them."""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from bucketcast.topics.address import Address, address
from bucketcast.topics.attributes import login
from bucketcast.topics.model import ENDPOINT, Topic

_MECHANISMS: Final = {
    "PLAIN": "plain",
    "SCRAM-SHA-256": "scram-sha-256",
    "SCRAM-SHA-512": "scram-sha-512",
}


@dataclass(frozen=True, slots=True)
class Pushed:
    """`settings` are for `bucketcast.dynamic_targets.validation` and hold the login in the clear.

    `ack` is when an event counts as delivered: `none` when it was sent, `broker` when the broker
    confirmed it, `routable` when it could route it too, `any` by HTTP's status.
    """

    kind: str
    ack: str
    settings: dict[str, str] = field(repr=False)


def target(topic: Topic, hidden: Mapping[str, str]) -> Pushed | None:
    """Return how a topic's events are pushed; None if they are not.

    `hidden` are the fields of its secret. Events are Ceph's records with the topic's `OpaqueData`,
    with the headers of CloudEvents beside them where `cloudevents` says so and HTTP is spoken.
    """
    if not topic.endpoint:
        return None
    values = {**topic.attributes, **hidden}
    if topic.authority:
        values["ca-location"] = topic.authority
    where = address(values[ENDPOINT])
    settings = {"shape": "ceph", "opaque_data": topic.opaque_data}
    settings |= _BY_KIND[where.kind](topic, where, values)
    ack = {"webhook": "any"}.get(where.kind) or values.get(f"{where.kind}-ack-level", "broker")
    return Pushed(where.kind, ack, {key: text for key, text in settings.items() if text})


def _webhook(_: Topic, where: Address, values: Mapping[str, str]) -> dict[str, str]:
    token = ""
    if where.user:
        pair = f"{unquote(where.user)}:{unquote(where.password)}"
        token = f"Basic {base64.b64encode(pair.encode()).decode()}"
    secure = where.scheme == "https"
    return {
        "endpoint": where.without_login,
        "cloudevents": "on" if values.get("cloudevents") == "true" else "",
        "auth_token": token,
        "cert_authority": values.get("ca-location", "") if secure else "",
        "tls_skip_verify": _off(values) if secure else "",
    }


def _amqp(topic: Topic, where: Address, values: Mapping[str, str]) -> dict[str, str]:
    ack = values.get("amqp-ack-level", "broker")
    secure = where.scheme == "amqps"
    user, password = login(values)
    entry = f"{user}:{password}@" if user else ""
    return {
        "url": f"{where.scheme}://{entry}{where.host_and_port}{where.path}",
        "exchange": values["amqp-exchange"],
        "routing_key": topic.name,
        "mandatory": "on" if ack == "routable" else "off",
        "delivery_mode": "1" if ack == "none" else "2",
        "ack": "none" if ack == "none" else "",
        "cert_authority": values.get("ca-location", "") if secure else "",
        "tls_skip_verify": _off(values) if secure else "",
    }


def _kafka(topic: Topic, where: Address, values: Mapping[str, str]) -> dict[str, str]:
    secure = values.get("use-ssl") == "true"
    user, password = login(values)
    found = {
        "brokers": ",".join(filter(None, (where.host_and_port, values.get("kafka-brokers", "")))),
        "topic": topic.name,
        "ack": "none" if values.get("kafka-ack-level") == "none" else "",
        "tls": "on" if secure else "off",
        "cert_authority": values.get("ca-location", "") if secure else "",
        "tls_skip_verify": _off(values) if secure else "",
    }
    if user:
        found |= {
            "sasl": "on",
            "sasl_username": user,
            "sasl_password": password,
            "sasl_mechanism": _MECHANISMS[values.get("mechanism", "PLAIN")],
        }
    return found


def _off(values: Mapping[str, str]) -> str:
    return "on" if values.get("verify-ssl") == "false" else ""


_BY_KIND: Final[Mapping[str, Callable[[Topic, Address, Mapping[str, str]], dict[str, str]]]] = {
    "webhook": _webhook,
    "amqp": _amqp,
    "kafka": _kafka,
}
