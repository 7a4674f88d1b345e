"""Kafka: one broker that is its own controller, with PLAIN and SCRAM logins, TLS and mutual TLS.

The broker does not create missing topics, unless `start_with_topic_creation` started it, as is
Kafka's default.
"""

import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from cryptography.hazmat.primitives import serialization
from kafka import KafkaConsumer, TopicPartition

from localstack.java import QUICK
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
    *("-Xms64m", "-Xmx384m", *QUICK),
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)
_CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"

# The listener `open` is for the broker itself, and for the tests' consumer and administrator;
# `relayed` is as `tls`, behind a relay that the tests start at the port that it advertises.
# With a short session, a broker that was killed can restart at once.
_CONFIGURATION = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=OPEN://127.0.0.1:{open},PLAIN://127.0.0.1:{plain},TLS://127.0.0.1:{tls},\
MTLS://127.0.0.1:{mtls},RELAYED://127.0.0.1:{relayed},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=OPEN://127.0.0.1:{open},PLAIN://127.0.0.1:{plain},TLS://127.0.0.1:{tls},\
MTLS://127.0.0.1:{mtls},RELAYED://127.0.0.1:{relay}
listener.security.protocol.map=OPEN:PLAINTEXT,PLAIN:SASL_PLAINTEXT,TLS:SASL_SSL,MTLS:SSL,\
RELAYED:SASL_SSL,CONTROLLER:PLAINTEXT
inter.broker.listener.name=OPEN
log.dirs={disks}
num.partitions=1
auto.create.topics.enable={create_topics}
message.max.bytes=8388608
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=3000
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
_TIMEOUT = 60.0
"""The longest time that a broker takes to do what it was asked to do."""
_REQUEST_TIMEOUT = 5.0
"""The time limit of one request of an administrator, which is then repeated."""
_QUIET = {"log_level": 0, "reconnect.backoff.max.ms": 100}
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
"""A batch on the disk: its size after these 12 bytes, codec, producer, number of messages."""
_BEFORE_SIZE = 12
_PRODUCT = "kafka-server-[0-9]*.jar"


class Batch(NamedTuple):
    """A batch of messages on the disk."""

    codec: str
    size: int
    producer: int
    """The number of the idempotent producer, or -1."""
    messages: int


class KafkaServer(Server):
    """Its `destination` is a topic with one partition."""

    kind = "kafka"
    destination = "events"
    password_option = "sasl_password"
    client_options = ("client_tls_cert", "client_tls_key")

    def __init__(self, process: Process, tls: Tls, ports: Mapping[str, int]) -> None:
        super().__init__(process, tls, ports["plain"])
        self.ports = ports
        self.client = _administrator(ports)
        """librdkafka's options for a client that may do everything."""

    def settings(self, **overrides: str) -> Settings:
        login = {"sasl": "on", "sasl_username": USER, "sasl_password": PASSWORD}
        return {"brokers": self.address, "topic": self.destination, **login, **overrides}

    def encrypted(self, *, demanding: bool) -> Settings:
        """See `Server`; a certificate that is demanded is the login."""
        no_other = {"sasl": "off", "sasl_username": "", "sasl_password": ""} if demanding else {}
        port = self.ports["mtls" if demanding else "tls"]
        return {"brokers": f"127.0.0.1:{port}", "tls": "on", **no_other}

    def relayed_settings(self) -> Settings:
        """Return `tls_settings` that lead to the listener which advertises the port of a relay."""
        return self.tls_settings(brokers=f"127.0.0.1:{self.ports['relayed']}")

    @contextmanager
    def scram_users(self, password: str) -> Iterator[None]:
        """Create users with this password and one mechanism each; delete them at the end."""
        change = AdminClient(self.client).alter_user_scram_credentials
        for user, mechanism in SCRAM_USERS.items():
            credential = ScramCredentialInfo(mechanism, 4096)
            change([UserScramCredentialUpsertion(user, credential, password.encode())])[
                user
            ].result()
            login = {
                "bootstrap.servers": self.address,
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": mechanism.name.replace("_", "-"),
                "sasl.username": user,
                "sasl.password": password,
            }
            # The controller has it; the broker may not know it yet.
            _retry(partial(_check_ready, {**_QUIET, **login}))
        yield
        for user, mechanism in SCRAM_USERS.items():
            change([UserScramCredentialDeletion(user, mechanism)])[user].result()

    def received(self, destination: str = "") -> list[Arrival]:
        return [
            Arrival(
                body=message.value or b"",
                key=(message.key or b"").decode(),
                headers={name: value.decode() for name, value in message.headers},
            )
            for message in self.messages(destination or self.destination)
        ]

    def messages(self, topic: str) -> list[Any]:
        """Return all records of a topic, partition by partition; none if it does not exist."""
        brokers = self.client["bootstrap.servers"]
        with closing(KafkaConsumer(bootstrap_servers=brokers, enable_auto_commit=False)) as reader:
            numbers = reader.partitions_for_topic(topic) or ()
            partitions = [TopicPartition(topic, number) for number in sorted(numbers)]
            reader.assign(partitions)
            reader.seek_to_beginning(*partitions)
            ends = reader.end_offsets(partitions)
            found: dict[Any, list[Any]] = {partition: [] for partition in partitions}
            while any(reader.position(each) < end for each, end in ends.items()):
                for partition, records in reader.poll(100).items():
                    found[partition] += records
        return [record for records in found.values() for record in records]

    def show_certificate(self) -> None:
        keystore = _write_keystore(self.process.folder, self.tls)
        name = "listener.name.mtls.ssl.keystore.location"
        change = ConfigEntry(name, keystore, incremental_operation=AlterConfigOpType.SET)
        broker = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[change])
        administrator = AdminClient(self.client)
        for future in administrator.incremental_alter_configs([broker]).values():
            future.result(_TIMEOUT)
        self.wait_until_shown(self.ports["mtls"])

    def create_topic(self, topic: str, partitions: int = 1, **config: str) -> None:
        """Create a topic, and wait until it is ready; `config` has a `_` for each dot."""
        properties = {key.replace("_", "."): value for key, value in config.items()}
        administrator = AdminClient(self.client)
        futures = administrator.create_topics([NewTopic(topic, partitions, config=properties)])
        futures[topic].result(_TIMEOUT)
        _retry(partial(_check_ready, self.client, topic))

    def allow(self, rights: Sequence[AclBinding]) -> None:
        """Add these rights, and wait until they hold."""
        administrator = AdminClient(self.client)
        for future in administrator.create_acls([*rights]).values():
            future.result()
        _retry(partial(_check_rights, administrator, len(rights)))

    def batches(self, topic: str) -> list[Batch]:
        """Return the batches of a topic's first partition on the disk."""
        file = self.process.folder / "data" / f"{topic}-0" / f"{0:020}.log"
        data, batches = file.read_bytes(), []
        while data:
            size, codec, producer, count = _HEADER.unpack_from(data)
            batches.append(Batch(_CODECS[codec & 7], size, producer, count))
            data = data[size + _BEFORE_SIZE :]
        return batches

    def clear(self) -> None:
        # A broker that was paused drops requests until it has registered at its controller again.
        _retry(self._remove_all)
        self.create_topic(self.destination)

    def _remove_all(self) -> None:
        administrator = AdminClient(self.client)
        acls = administrator.delete_acls([_EVERY_ACL], request_timeout=_REQUEST_TIMEOUT)
        for acl_future in acls.values():
            acl_future.result()
        topics = list(administrator.list_topics(timeout=_REQUEST_TIMEOUT).topics)
        if topics:
            futures = administrator.delete_topics(topics, request_timeout=_REQUEST_TIMEOUT)
            for future in futures.values():
                future.result()
            raise KafkaException("the broker may still have topics that its controller removed")
        _check_rights(administrator, 0)


def _retry(call: Callable[[], T], seconds: float = _TIMEOUT) -> T:
    """Return the result of a call, which is repeated for so many seconds if Kafka refuses it."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return call()
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def start(folder: Path, tls: Tls) -> KafkaServer:
    """Start Kafka with its data in `folder`; see `servers.Module.start`."""
    return _start(folder, tls, "data", create_topics="false")


def start_with_topic_creation(folder: Path, tls: Tls) -> KafkaServer:
    """Start a broker that creates missing topics when they are written to.

    It keeps some of the partitions in `disk` beside the folder of the others.
    """
    return _start(folder, tls, "data", "disk", create_topics="true")


def _start(folder: Path, tls: Tls, *disks: str, create_topics: str) -> KafkaServer:
    java = find_program("java", "/usr/lib/jvm/*/bin", "/opt/homebrew/opt/openjdk/bin")
    if not list(_JARS.glob(_PRODUCT)):
        raise MissingProgramError("kafka")
    folder = folder.absolute()
    chosen = ports(folder, "open", "plain", "tls", "mtls", "relayed", "relay", "controller")
    new = not (folder / "data").exists()
    command = [java, *_JAVA, "-cp", str(_JARS / "*")]
    properties = folder / "server.properties"
    process = Process(
        [*command, "kafka.Kafka", str(properties)],
        folder,
        ready=partial(_check_ready, _administrator(chosen)),
        not_ready_yet=(KafkaException,),
    )
    server = KafkaServer(process, tls, chosen)
    paths = ",".join(str(folder / name) for name in disks)
    _configure(folder, tls, chosen, create_topics=create_topics, disks=paths)
    if new:
        _format(properties, command)
    process.start()
    if new:
        server.clear()
    return server


def _write_keystore(folder: Path, tls: Tls) -> str:
    key = serialization.load_pem_private_key(tls.server_key.read_bytes(), None)
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,  # the only format that Kafka supports
        serialization.NoEncryption(),
    )
    keystore = folder / "keystore.pem"
    keystore.touch(mode=0o600)
    keystore.write_bytes(pem + tls.server_cert.read_bytes())
    return str(keystore)


def _configure(folder: Path, tls: Tls, ports: Mapping[str, int], **chosen: str) -> None:
    _write_keystore(folder, tls)
    properties = _CONFIGURATION.format(**ports, **chosen, folder=folder, ca=tls.ca)
    for listener in ("plain", "tls", "relayed"):
        properties += _LOGIN.format(listener=listener, user=USER, password=PASSWORD)
    (folder / "server.properties").touch(mode=0o600)
    (folder / "server.properties").write_text(properties)


def _format(properties: Path, java: list[str]) -> None:
    program = [*java, "kafka.tools.StorageTool", "format", "--cluster-id", _CLUSTER]
    completed = subprocess.run(
        [*program, "--config", str(properties)], capture_output=True, text=True, check=False
    )
    if completed.returncode:
        raise StartError(completed.stdout + completed.stderr)


def _administrator(ports: Mapping[str, int]) -> dict[str, Any]:
    return {"bootstrap.servers": f"127.0.0.1:{ports['open']}", **_QUIET}


def _check_ready(client: dict[str, Any], topic: str = "") -> None:
    """Raise KafkaException until the broker answers, and leads all partitions, the topic's too."""
    cluster = AdminClient(client).list_topics(timeout=_REQUEST_TIMEOUT)
    partitions = [
        partition for topic in cluster.topics.values() for partition in topic.partitions.values()
    ]
    brokers = cluster.brokers
    if not brokers or any(partition.leader not in brokers for partition in partitions):
        raise KafkaException("the broker does not lead its partitions yet")
    if topic and topic not in cluster.topics:
        raise KafkaException("the broker does not know the topic yet")


def _check_rights(administrator: AdminClient, count: int) -> None:
    """Raise KafkaException until the broker knows so many rights."""
    known = administrator.describe_acls(_EVERY_ACL, request_timeout=_REQUEST_TIMEOUT).result()
    if len(known) != count:
        raise KafkaException("the broker does not know the rights yet")
