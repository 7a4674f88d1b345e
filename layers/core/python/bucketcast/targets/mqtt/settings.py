"""The options of `notify_mqtt`."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from bucketcast.settings.options import Limits, option, unused
from bucketcast.settings.types import Duration, LoginUrl, Secret
from bucketcast.targets.base import iam, options
from bucketcast.targets.mqtt.address import Broker, parse
from bucketcast.targets.mqtt.protocol import MAX_TEXT

MAX_KEEP_ALIVE = "65535s"
"""The largest number in MQTT's two bytes."""
MAX_ID_3_1 = 23
RANDOM_BYTES = 6
"""Random bytes at the end of the client id, two hex digits each."""


@dataclass(frozen=True, kw_only=True)
class MqttSettings(options.Common, options.TlsUnverified, iam.IamLogin):
    """MinIO's options of `notify_mqtt`, plus Bucketcast's own."""

    broker: LoginUrl = option("the broker's URL", example="tcp://localhost:1883")
    topic: str = option("the topic that events go to", example="bucketevents")
    qos: Literal["0", "1", "2"] = option(
        "quality of service: 0 without confirmation, 1 and 2 with one per event", default="0"
    )
    username: str = option("the user, unless broker contains a login", default="")
    password: Secret = option("the password of the user", default="")
    auth: iam.Auth = option(iam.AUTH_HELP, default="password")
    iam_resource: str = option(
        "with auth = iam, the ARN of the topic in AWS IoT Core",
        default="",
        example="arn:aws:iot:eu-west-1:111122223333:topic/bucketevents",
    )
    iam_pattern: ClassVar[re.Pattern[str]] = iam.arn_pattern("iot", "topic/(?P<topic>[^*?]+)")
    keep_alive_interval: Duration = option(
        "how long a connection may be idle; 0s means 10s",
        default="0s",
        limits=Limits("0s", MAX_KEEP_ALIVE),
    )
    reconnect_interval: Duration = unused(
        "the target's SQS queue decides when to retry", default="0s"
    )
    version: Literal["auto", "5", "3.1.1", "3.1"] = option(
        "the MQTT version; auto: 5, or 3.1.1 or 3.1 if the broker does not support it",
        default="auto",
    )
    client_id: str = option(
        "prefix of the client id; twelve random hex digits are appended", default="bucketcast"
    )

    def validation_errors(self) -> Iterator[options.ValidationError]:
        """Yield the errors; references are not resolved."""
        url = self.broker.reveal()
        if not options.is_reference(url):
            try:
                broker = parse(url)
            except ValueError as error:
                shown = "***" if "@" in url else repr(url.partition("?")[0])
                yield "broker", f"found {shown}", f"allowed is {error}"
            else:
                yield from _broker_errors(self, broker)
                yield from _iam_errors(self, broker)
        for key in ("topic", "client_id", "username"):
            if not _is_mqtt_text(value := getattr(self, key)):
                allowed = f"allowed are {MAX_TEXT} bytes without control characters"
                yield key, f"found {value[:80]!r}", allowed
        if {"+", "#"}.intersection(self.topic):
            yield (
                "topic",
                f"found {self.topic!r}",
                "allowed is a name without + and #, which are for subscribers",
            )
        yield from _version_errors(self)

    def iam_rights(self) -> Sequence[iam.Right]:
        head = self.iam_parts["head"]
        return [
            iam.Right(["iot:Connect"], [f"{head}client/{self.client_id}*"]),
            iam.Right(["iot:Publish"], [self.iam_resource]),
        ]

    def notes(self) -> Iterator[str]:
        if self.qos == "0":
            yield (
                "qos = 0: the broker confirms no event, only after each batch that it has read it;"
                " an event that it drops then is lost. With qos = 1 it confirms each event"
            )
        elif self.version.startswith("3"):
            yield (
                f"version = {self.version}: a broker may also confirm events that the user may not"
                " publish, and which are lost; with version = 5 it can refuse them"
            )


def _version_errors(settings: MqttSettings) -> Iterator[options.ValidationError]:
    """Yield the options that `version` does not support."""
    version = f"version = {settings.version}"
    if settings.shape == "cloudevents-binary" and settings.version.startswith("3"):
        allowed = "allowed is cloudevents, or version = 5, which can carry attributes"
        yield "shape", f"found {settings.shape!r} beside {version}", allowed
    longest = MAX_ID_3_1 - 2 * RANDOM_BYTES
    known = settings.version == "3.1" and not options.is_reference(settings.client_id)
    if known and len(settings.client_id.encode()) > longest:
        allowed = f"allowed are {longest} bytes: MQTT 3.1 takes {MAX_ID_3_1} with the digits"
        yield "client_id", f"found {settings.client_id[:80]!r} beside {version}", allowed


def _broker_errors(settings: MqttSettings, broker: Broker) -> Iterator[options.ValidationError]:
    """Yield the options that contradict `broker`."""
    if broker.username and (settings.username or settings.password):
        key = "username" if settings.username else "password"
        yield key, "given while broker holds a login", "allowed is one of both"
    elif settings.password and not settings.username:
        yield "username", "missing", "it is needed beside password"
    yield from options.tls_errors(
        settings,
        encrypted=broker.encrypted,
        problem=f"given while broker is {broker.scheme}://",
        allowed="allowed is a tls:// or wss:// broker beside it",
    )


def _iam_errors(settings: MqttSettings, broker: Broker) -> Iterator[options.ValidationError]:
    """Yield the options that contradict `auth = iam`."""
    yield from iam.errors(settings, passwords=["username", "password"])
    if not settings.by_iam:
        return
    if broker.scheme != "wss":
        yield "broker", f"found {broker.scheme}://", "auth = iam needs a wss:// broker"
    if broker.username:
        yield (
            "broker",
            "found a login in it beside auth = iam",
            "allowed is one login: leave it out",
        )
    if settings.qos == "2":
        yield "qos", "found '2' beside auth = iam", "allowed are 0 and 1, which IoT Core supports"
    yield from options.reference_errors(settings, "topic", "client_id")
    arn = settings.iam_pattern.fullmatch(settings.iam_resource)
    if arn and arn["topic"] != settings.topic:
        yield "topic", f"found {settings.topic!r}", f"allowed is {arn['topic']!r} of iam_resource"


def _is_mqtt_text(text: str) -> bool:
    return len(text.encode()) <= MAX_TEXT and all(
        character >= " " and not "\x7f" <= character <= "\x9f" for character in text
    )
