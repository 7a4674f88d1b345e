"""The options of `notify_kafka`."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from bucketcast.settings.options import option, unused
from bucketcast.settings.types import Csv, Duration, OnOff, Pem, Secret, SecretPem, address
from bucketcast.targets.base import iam, options

LEVELS = {"gzip": 9, "lz4": 12, "zstd": 12}
"""The highest level of each codec in librdkafka."""
_topic = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,249}")


@dataclass(frozen=True, kw_only=True)
class KafkaSettings(options.Common, iam.IamLogin):
    """MinIO's options of `notify_kafka`, plus Bucketcast's own."""

    brokers: Csv = option(
        "bootstrap brokers; the default port is 9092",
        example="localhost:9092",
    )
    topic: str = option("the topic that events go to", example="bucketevents")
    sasl: OnOff = option("whether to log in with user and password", default="off")
    sasl_username: str = option("the user, for sasl = on", default="")
    sasl_password: Secret = option("the password of the user", default="")
    sasl_mechanism: Literal["plain", "sha256", "sha512", "scram-sha-256", "scram-sha-512"] = option(
        "the SASL mechanism: plain, or SCRAM by its short or full name", default="plain"
    )
    auth: iam.Auth = option(iam.AUTH_HELP, default="password")
    iam_resource: str = option(
        "with auth = iam, the ARN of the MSK cluster",
        default="",
        example="arn:aws:kafka:eu-west-1:111122223333:cluster/events/"
        "01234567-89ab-cdef-0123-456789abcdef-1",
    )
    iam_pattern: ClassVar[re.Pattern[str]] = iam.arn_pattern(
        "kafka", r"cluster/(?P<cluster>[A-Za-z0-9-]+/[A-Za-z0-9-]+)"
    )
    tls: OnOff = option("whether the connection is encrypted", default="off")
    tls_skip_verify: OnOff = option(
        "accept any certificate of the brokers; for tests only", default="off"
    )
    tls_client_auth: int = unused(
        "the brokers ask for a client's certificate, and get client_tls_cert", default="0"
    )
    cert_authority: Pem = option("the CA that signed the brokers' certificates", default="")
    client_tls_cert: Pem = option("this client's certificate, for mutual TLS", default="")
    client_tls_key: SecretPem = option("the private key of client_tls_cert", default="")
    version: str = unused(
        "each broker is asked for its version, which is 0.11.0.0 or newer",
        default="",
        example="2.2.0",
    )
    compression_codec: Literal["none", "gzip", "snappy", "lz4", "zstd"] = option(
        "how batches are compressed", default="none", variable="PRODUCER_COMPRESSION_CODEC"
    )
    compression_level: int = option(
        "gzip 0 to 9, lz4 and zstd 0 to 12; the codec's default unless set",
        default="",
        variable="PRODUCER_COMPRESSION_LEVEL",
    )
    ack: Literal["broker", "none"] = option(
        "when an event counts as delivered: broker: when all in-sync replicas have it; none: when "
        "it was sent",
        default="broker",
    )
    batch_size: int = unused("all events that came together are sent together", default="0")
    batch_commit_timeout: Duration = unused(
        "the target's SQS queue stores waiting events", default="0s"
    )

    def validation_errors(self) -> Iterator[options.ValidationError]:
        yield from _address_errors(self)
        yield from _login_errors(self)
        yield from options.tls_errors(
            self, encrypted=bool(self.tls), pair=("client_tls_cert", "client_tls_key")
        )
        yield from _compression_errors(self)
        yield from iam.errors(self, passwords=["sasl", "sasl_username", "sasl_password"])
        if self.by_iam:
            yield from options.reference_errors(self, "topic")

    def iam_rights(self) -> Sequence[iam.Right]:
        arn = self.iam_parts
        cluster = ["kafka-cluster:Connect", "kafka-cluster:DescribeCluster"]
        if self.ack != "none":
            cluster.append("kafka-cluster:WriteDataIdempotently")
        topic = f"{arn['head']}topic/{arn['cluster']}/{self.topic}"
        return [
            iam.Right(cluster, [self.iam_resource]),
            iam.Right(["kafka-cluster:DescribeTopic", "kafka-cluster:WriteData"], [topic]),
        ]


def _address_errors(settings: KafkaSettings) -> Iterator[options.ValidationError]:
    if not options.is_reference(settings.brokers):
        for broker in settings.brokers or ("",):
            try:
                address(broker)
            except ValueError as error:
                yield "brokers", f"found {broker!r}", f"allowed is, for each, {error}"
    topic = settings.topic
    if not options.is_reference(topic) and not _topic.fullmatch(topic):
        allowed = "1 to 249 letters, digits, '.', '_' and '-', but not '.' or '..'"
        yield "topic", f"found {topic!r}", f"allowed are {allowed}"


def _login_errors(settings: KafkaSettings) -> Iterator[options.ValidationError]:
    if settings.sasl and not settings.sasl_username:
        yield "sasl_username", "missing", "sasl = on needs it"
    for key in ("sasl_username", "sasl_password"):
        if getattr(settings, key) and not settings.sasl:
            yield key, "given while sasl is off", "allowed is sasl = on beside it"


def _compression_errors(settings: KafkaSettings) -> Iterator[options.ValidationError]:
    codec, level = settings.compression_codec, settings.compression_level
    if level is None or options.is_reference(level) or options.is_reference(codec):
        return
    if codec not in LEVELS:
        allowed = f"compression_codec {codec} has no levels; {', '.join(LEVELS)} have"
        yield "compression_level", f"found {level}", allowed
    elif level > LEVELS[codec]:
        yield "compression_level", f"found {level}", f"{codec} has the levels 0 to {LEVELS[codec]}"
