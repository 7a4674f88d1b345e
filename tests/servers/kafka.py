"""Kafka: one broker that is its own controller, with PLAIN and SCRAM logins, TLS and mutual TLS.

Topics are made on request only, so that a missing one is missing, unless the broker is started by
`start_making_topics`, which makes them itself, as Kafka does by default.
"""

import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from cryptography.hazmat.primitives import serialization

from tests.servers import Arrival, Server, Settings
from tests.servers.machine import MissingProgramError, find_program, ports
from tests.servers.process import Process, StartError
from tests.servers.tls import Tls

T = TypeVar("T")
USER = "alice"
PASSWORD = "alice-s3cret"
SCRAM_USERS = {"bob": ScramMechanism.SCRAM_SHA_256, "dora": ScramMechanism.SCRAM_SHA_512}
"""Users of `KafkaServer.scram_users`."""

_JARS = Path(__file__).parents[2] / ".local" / "servers" / "kafka"
_JAVA = (
    *("-Xms64m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)
_CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"

# The listener `open` is the broker's own, and that of the tests' consumer and administrator.
# A session of a second lets a broker come back at once that was killed.
_CONFIGURATION = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=OPEN://127.0.0.1:{open},PLAIN://127.0.0.1:{plain},TLS://127.0.0.1:{tls},\
MTLS://127.0.0.1:{mtls},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=OPEN://127.0.0.1:{open},PLAIN://127.0.0.1:{plain},TLS://127.0.0.1:{tls},\
MTLS://127.0.0.1:{mtls}
listener.security.protocol.map=OPEN:PLAINTEXT,PLAIN:SASL_PLAINTEXT,TLS:SASL_SSL,MTLS:SSL,\
CONTROLLER:PLAINTEXT
inter.broker.listener.name=OPEN
log.dirs={folder}/data
num.partitions=1
auto.create.topics.enable={makes_topics}
message.max.bytes=8388608
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=1000
broker.heartbeat.interval.ms=250
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=true
super.users=User:ANONYMOUS
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
ssl.keystore.type=PEM
ssl.keystore.location={folder}/keystore.pem
ssl.truststore.type=PEM
ssl.truststore.location={ca}
listener.name.mtls.ssl.client.auth=required
"""
_LOGIN = """\
listener.name.{listener}.plain.sasl.jaas.config=\
org.apache.kafka.common.security.plain.PlainLoginModule required user_{user}="{password}";
listener.name.{listener}.scram-sha-256.sasl.jaas.config=\
org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.{listener}.scram-sha-512.sasl.jaas.config=\
org.apache.kafka.common.security.scram.ScramLoginModule required;
"""
_SETTLED = 20.0
"""Seconds until a broker has done what it was asked to do, at the most."""
_ANSWERED = 5.0
"""Seconds for one request of an administrator, which is then repeated."""
_CLEARED = 60.0
_QUIET = {"log_level": 0}
_ANYTHING: Any = None
_EVERY_ACL = AclBindingFilter(
    ResourceType.ANY,
    _ANYTHING,
    ResourcePatternType.ANY,
    _ANYTHING,
    _ANYTHING,
    AclOperation.ANY,
    AclPermissionType.ANY,
)
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_HEADER = struct.Struct(">8x i 4x x 4x h 4x 8x 8x q 2x 4x i")
"""Of a batch on the disk: its size after these 12 bytes, codec, producer, number of messages."""
_BEFORE_SIZE = 12
_PRODUCT = "kafka-server-[0-9]*.jar"


class Batch(NamedTuple):
    """Messages that were written together."""

    codec: str
    size: int
    producer: int
    """The number of the idempotent producer, or -1."""
    messages: int


class KafkaServer(Server):
    """Its `destination` is a topic with one partition."""

    kind = "kafka"
    destination = "events"
    client_options = ("client_tls_cert", "client_tls_key")

    def __init__(self, process: Process, tls: Tls, chosen: Mapping[str, int]) -> None:
        super().__init__(process, tls)
        self.chosen = chosen
        self.client = _administrator(chosen)
        """What a client of the tests needs, who may do everything."""

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.chosen['plain']}"

    def version(self) -> str:
        """Of the jar that runs: a broker reports what it can do, and not its version."""
        (jar,) = _JARS.glob(_PRODUCT)
        return f"Kafka {jar.stem.rpartition('-')[2]}"

    def settings(self, **overrides: str) -> Settings:
        login = {"sasl": "on", "sasl_username": USER, "sasl_password": PASSWORD}
        return {"brokers": self.address, "topic": self.destination, **login, **overrides}

    def wrong_password_settings(self, **overrides: str) -> Settings:
        return self.settings(**{"sasl_password": "wr0ng-s3cret", **overrides})

    def tls_settings(self, **overrides: str) -> Settings:
        return self.settings(**{**self._verified("tls"), **overrides})

    def mtls_settings(self, **overrides: str) -> Settings:
        """See `Server`; the certificate is the login."""
        own = self.as_client(self.tls.client_cert.read_text(), self.tls.client_key.read_text())
        no_login = {"sasl": "off", "sasl_username": "", "sasl_password": ""}
        return self.settings(**{**self._verified("mtls"), **no_login, **own, **overrides})

    def _verified(self, listener: str) -> Settings:
        return {
            "brokers": f"127.0.0.1:{self.chosen[listener]}",
            "tls": "on",
            "cert_authority": self.tls.ca.read_text(),
        }

    @contextmanager
    def scram_users(self, password: str) -> Iterator[None]:
        """Users with this password whom the broker knows by one mechanism each."""
        change = AdminClient(self.client).alter_user_scram_credentials
        for user, mechanism in SCRAM_USERS.items():
            credential = ScramCredentialInfo(mechanism, 4096)
            change([UserScramCredentialUpsertion(user, credential, password.encode())])[
                user
            ].result()
        yield
        for user, mechanism in SCRAM_USERS.items():
            change([UserScramCredentialDeletion(user, mechanism)])[user].result()

    def received(self, destination: str = "") -> list[Arrival]:
        return [
            Arrival(
                body=message.value() or b"",
                key=(message.key() or b"").decode(),
                headers=_headers(message),
            )
            for message in self.messages(destination or self.destination)
        ]

    def messages(self, topic: str) -> list[Message]:
        """All that is in a topic, one partition after the other; nothing where there is none."""
        consumer = Consumer({**self.client, "group.id": "tests", "fetch.wait.max.ms": 20})
        try:
            found: list[Message] = []
            for partition in consumer.list_topics(topic, timeout=_SETTLED).topics[topic].partitions:
                topic_partition = TopicPartition(topic, partition, 0)
                offsets = partial(consumer.get_watermark_offsets, topic_partition, timeout=_SETTLED)
                _, end = _settled(offsets)  # a new topic has no leader yet
                consumer.assign([topic_partition])
                wanted = len(found) + end
                while len(found) < wanted:
                    found += _read(consumer, wanted - len(found))
            return found
        finally:
            consumer.close()

    def advertise(self, port: int) -> None:
        """Send clients of the TLS listener to this port, which leads to that one."""
        file = self.process.folder / "server.properties"
        before, name, rest = file.read_text().partition("advertised.listeners=")
        here = f"TLS://127.0.0.1:{self.chosen['tls']}"
        file.write_text(before + name + rest.replace(here, f"TLS://127.0.0.1:{port}", 1))
        self.process.stop()
        self.process.start()

    def make(self, topic: str, partitions: int = 1, **config: str) -> None:
        """A topic, ready for use; `config` has a `_` for each dot."""
        named = {key.replace("_", "."): text for key, text in config.items()}
        administrator = AdminClient(self.client)
        made = administrator.create_topics([NewTopic(topic, partitions, config=named)])
        made[topic].result(_SETTLED)
        _settled(partial(_ready, self.client))

    def batches(self, topic: str) -> list[Batch]:
        """What is in a topic's first partition, as it lies on the disk."""
        file = self.process.folder / "data" / f"{topic}-0" / f"{0:020}.log"
        data, found = file.read_bytes(), []
        while data:
            size, codec, producer, count = _HEADER.unpack_from(data)
            found.append(Batch(_CODECS[codec & 7], size, producer, count))
            data = data[size + _BEFORE_SIZE :]
        return found

    def clear(self) -> None:
        # A broker that stood still forgets requests until its controller has it again.
        _settled(self._remove_all, _CLEARED)
        self.make(self.destination)

    def _remove_all(self) -> None:
        administrator = AdminClient(self.client)
        for rights in administrator.delete_acls([_EVERY_ACL], request_timeout=_ANSWERED).values():
            rights.result()
        topics = list(administrator.list_topics(timeout=_ANSWERED).topics)
        if topics:
            removed = administrator.delete_topics(topics, request_timeout=_ANSWERED)
            for gone in removed.values():
                gone.result()


def _settled(call: Callable[[], T], seconds: float = _SETTLED) -> T:
    """Return what a call returns; repeat it for so many seconds while Kafka refuses it."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return call()
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def start(folder: Path, tls: Tls, *, outlives: bool = False) -> KafkaServer:
    """Start Kafka with its data in `folder`; see `servers.Module.start`."""
    return _start(folder, tls, outlives=outlives, makes_topics="false")


def start_making_topics(folder: Path, tls: Tls) -> KafkaServer:
    """Start a broker that makes each topic that somebody writes to."""
    return _start(folder, tls, outlives=False, makes_topics="true")


def _start(folder: Path, tls: Tls, *, outlives: bool, makes_topics: str) -> KafkaServer:
    java = find_program("java", "/usr/lib/jvm/*/bin", "/opt/homebrew/opt/openjdk/bin")
    if not list(_JARS.glob(_PRODUCT)):
        raise MissingProgramError("kafka")
    folder = folder.absolute()
    chosen = ports(folder, "open", "plain", "tls", "mtls", "controller")
    new = not (folder / "data").exists()
    command = [java, *_JAVA, "-cp", str(_JARS / "*")]
    process = Process(
        [*command, "kafka.Kafka", str(folder / "server.properties")],
        folder,
        ready=partial(_ready, _administrator(chosen)),
        not_ready_yet=(KafkaException,),
        outlives=outlives,
    )
    server = KafkaServer(process, tls, chosen)
    if not process.running:
        _configure(folder, tls, makes_topics, chosen)
        if new:
            _format(folder, command)
    process.start()
    if new:
        server.clear()
    return server


def _configure(folder: Path, tls: Tls, makes_topics: str, chosen: Mapping[str, int]) -> None:
    key = serialization.load_pem_private_key(tls.server_key.read_bytes(), None)
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,  # the only one that Kafka reads
        serialization.NoEncryption(),
    )
    keystore = folder / "keystore.pem"
    keystore.touch(mode=0o600)
    keystore.write_bytes(pem + tls.server_cert.read_bytes())
    lines = _CONFIGURATION.format(**chosen, folder=folder, ca=tls.ca, makes_topics=makes_topics)
    for listener in ("plain", "tls"):
        lines += _LOGIN.format(listener=listener, user=USER, password=PASSWORD)
    (folder / "server.properties").touch(mode=0o600)
    (folder / "server.properties").write_text(lines)


def _format(folder: Path, java: list[str]) -> None:
    program = [*java, "kafka.tools.StorageTool", "format", "--cluster-id", _CLUSTER]
    made = subprocess.run(
        [*program, "--config", str(folder / "server.properties")],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        raise StartError(made.stdout + made.stderr)


def _administrator(chosen: Mapping[str, int]) -> dict[str, Any]:
    return {"bootstrap.servers": f"127.0.0.1:{chosen['open']}", **_QUIET}


def _ready(administrator: dict[str, Any]) -> None:
    """Raise KafkaException until the broker answers, and leads all of its partitions."""
    found = AdminClient(administrator).list_topics(timeout=0.5)
    parts = [part for topic in found.topics.values() for part in topic.partitions.values()]
    if not found.brokers or any(part.leader not in found.brokers for part in parts):
        raise KafkaException("the broker does not lead its partitions yet")


def _headers(message: Message) -> dict[str, str]:
    pairs: Any = message.headers() or ()
    return {name: value.decode() for name, value in pairs}


def _read(consumer: Consumer, most: int) -> list[Message]:
    found = consumer.consume(most, timeout=_SETTLED)
    for message in found:
        if message.error():
            raise KafkaException(message.error())
    return found


def _client(settings: Settings) -> dict[str, Any]:
    """A client's own words for a target's settings."""
    encrypted = settings.get("tls") == "on"
    protocol = "SASL_" * (settings.get("sasl") == "on") + ("SSL" if encrypted else "PLAINTEXT")
    words = {
        "sasl.mechanism": "PLAIN",
        "sasl.username": settings.get("sasl_username"),
        "sasl.password": settings.get("sasl_password"),
        "ssl.ca.pem": settings.get("cert_authority"),
        "ssl.certificate.pem": settings.get("client_tls_cert"),
        "ssl.key.pem": settings.get("client_tls_key"),
    }
    return {
        **{word: text for word, text in words.items() if text},
        "bootstrap.servers": settings["brokers"],
        "security.protocol": protocol,
        "message.timeout.ms": 3000,
        **_QUIET,
    }
