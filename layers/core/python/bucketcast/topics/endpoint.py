"""The target of a topic's endpoint: its kind, and the settings that the kind declares."""

import base64
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import unquote

from bucketcast.limits import ONCE_SEND_SECONDS
from bucketcast.state.items import ENDPOINT, Topic
from bucketcast.topics.address import Address, parse_address
from bucketcast.topics.attributes import TLS, login

_MECHANISMS: Final = {
    "PLAIN": "plain",
    "SCRAM-SHA-256": "scram-sha-256",
    "SCRAM-SHA-512": "scram-sha-512",
}


def kind_of(attributes: Mapping[str, str]) -> str:
    """Return the kind of target of valid attributes: "" if events are not pushed."""
    return parse_address(attributes[ENDPOINT]).kind if ENDPOINT in attributes else ""


def push_settings(topic: Topic, hidden: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a topic's target, with the login in the clear.

    `hidden` are its attributes with a login. Events are Ceph's records with the topic's
    `OpaqueData`, over HTTP also with CloudEvents headers if `cloudevents` is set.
    """
    values = {**topic.attributes, **hidden}
    endpoint = parse_address(values[ENDPOINT])
    settings = {"shape": "ceph", "opaque_data": topic.opaque_data}
    settings |= _BY_KIND[topic.kind](topic, endpoint, values)
    if endpoint.scheme in ("https", "amqps") or settings.get("tls") == "on":
        settings["cert_authority"] = values.get("ca-location", "")
        settings["tls_skip_verify"] = "on" if values.get("verify-ssl") == "false" else ""
    return {key: text for key, text in settings.items() if text}


def _webhook(topic: Topic, endpoint: Address, values: Mapping[str, str]) -> dict[str, str]:
    token = ""
    if endpoint.user:
        pair = f"{unquote(endpoint.user)}:{unquote(endpoint.password)}"
        token = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return {
        "endpoint": endpoint.without_login,
        "cloudevents": "on" if values.get("cloudevents") == "true" else "",
        "auth_token": token,
        "timeout": "" if topic.persistent else f"{ONCE_SEND_SECONDS:g}s",
    }


def _amqp(topic: Topic, endpoint: Address, values: Mapping[str, str]) -> dict[str, str]:
    ack = values.get("amqp-ack-level", "broker")
    user, password = login(values)
    login_part = f"{user}:{password}@" if user else ""
    return {
        "url": f"{endpoint.scheme}://{login_part}{endpoint.host_and_port}{endpoint.path}",
        "exchange": values["amqp-exchange"],
        "routing_key": topic.name,
        "mandatory": "on" if ack == "routable" else "off",
        "delivery_mode": "1" if ack == "none" else "2",
        "ack": "none" if ack == "none" else "",
    }


def _kafka(topic: Topic, endpoint: Address, values: Mapping[str, str]) -> dict[str, str]:
    user, password = login(values)
    settings = {
        "brokers": ",".join(
            filter(None, (endpoint.host_and_port, values.get("kafka-brokers", "")))
        ),
        "topic": topic.name,
        "ack": "none" if values.get("kafka-ack-level") == "none" else "",
        "tls": "on" if values.get(TLS) == "true" else "off",
    }
    if user:
        settings |= {
            "sasl": "on",
            "sasl_username": user,
            "sasl_password": password,
            "sasl_mechanism": _MECHANISMS[values.get("mechanism", "PLAIN")],
        }
    return settings


_BY_KIND: Final[Mapping[str, Callable[[Topic, Address, Mapping[str, str]], dict[str, str]]]] = {
    "webhook": _webhook,
    "amqp": _amqp,
    "kafka": _kafka,
}
