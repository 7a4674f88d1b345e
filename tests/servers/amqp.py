"""RabbitMQ with a full user, one who may only publish to `ev.*`, TLS, and durable queues."""

import base64
import hashlib
import json
import logging
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pika
from pika.adapters.blocking_connection import BlockingChannel
from pika.adapters.utils.connection_workflow import AMQPConnectorException
from pika.exceptions import AMQPError

from tests.servers import Arrival, Server, Settings
from tests.servers.machine import find_program, ports
from tests.servers.process import Process
from tests.servers.tls import CLIENT_NAME, Tls

USER, PASSWORD = "alice", "alice-s3cret"
LIMITED_USER, LIMITED_PASSWORD = "bob", "bob-s3cret"
"""May only publish to `ev.*` in the virtual host `/`."""
CLIENT_PASSWORD = "carol-s3cret"
"""The password of the user that the client certificate names."""
OTHER_VHOST = "other/s3"
"""Only `alice` may use it."""
ROUTING_KEY = "bucketlogs"
LARGEST_MESSAGE = 4_000_000

# The second argument starts the server. epmd, Erlang's registry of nodes, is started here, because
# the one that Erlang starts itself would outlive the server.
_WITH_EPMD = """
"$1" -address 127.0.0.1 -port "$ERL_EPMD_PORT" & epmd=$!
"$2" & server=$!
trap 'kill -TERM $server' TERM
while kill -0 $server 2>/dev/null; do wait $server; status=$?; done
kill $epmd
exit $status
"""
_CONFIGURATION = """\
listeners.tcp.1 = 127.0.0.1:{plain}
listeners.ssl.1 = 127.0.0.1:{tls}
load_definitions = {folder}/definitions.json
vm_memory_high_watermark.absolute = 1GiB
disk_free_limit.absolute = 50MB
max_message_size = {largest}
log.console = true
log.file = false
auth_mechanisms.1 = PLAIN
auth_mechanisms.2 = EXTERNAL
ssl_cert_login_from = common_name
"""
# RabbitMQ has one set of options for all its TLS ports, but Erlang selects by server name.
# A client that connects to an IP address sends none.
_TLS_OPTIONS = """\
[{{rabbit, [{{ssl_options, [
  {{cacertfile, "{ca}"}}, {{certfile, "{cert}"}}, {{keyfile, "{key}"}},
  {{verify, verify_peer}}, {{fail_if_no_peer_cert, false}},
  {{sni_hosts, [{{"localhost", [
    {{cacertfile, "{ca}"}}, {{certfile, "{cert}"}}, {{keyfile, "{key}"}},
    {{verify, verify_peer}}, {{fail_if_no_peer_cert, true}}
  ]}}]}}
]}}]}}].
"""
_ON_DISK = {"x-queue-mode": "lazy"}
"""Arguments of a queue that is not read while a benchmark fills it."""
_ERLANG = "+S 2:2 +sbwt none -kernel inet_dist_use_interface {127,0,0,1}"


# At the contract tests' level pika logs every step of every connection.
logging.getLogger("pika").setLevel(logging.WARNING)


class AmqpServer(Server):
    """Its `destination` is a fanout exchange with a queue of the same name."""

    kind = "amqp"
    destination = "ev.events"
    refusals = (AMQPError, AMQPConnectorException, OSError)

    def __init__(self, process: Process, tls: Tls, plain: int, tls_port: int) -> None:
        super().__init__(process, tls, plain)
        self.tls_port = tls_port
        self.password = PASSWORD

    def connect(self, vhost: str = "/") -> pika.BlockingConnection:
        """Connect as the full user; the caller closes the connection."""
        return pika.BlockingConnection(
            pika.ConnectionParameters(
                "127.0.0.1",
                self.port,
                vhost,
                pika.PlainCredentials(USER, self.password),
                socket_timeout=30,
                stack_timeout=30,
                blocked_connection_timeout=30,
            )
        )

    @contextmanager
    def channel(self, vhost: str = "/") -> Iterator[BlockingChannel]:
        """Open a channel of the full user."""
        with self.connect(vhost) as connection:
            yield connection.channel()

    def control(self, *command: str) -> None:
        """Run a command of `rabbitmqctl`."""
        program = Path(self.process.arguments[-1]).with_name("rabbitmqctl")
        environment = {**os.environ, **self.process.environment}
        subprocess.run(
            [program, "-q", *command],
            env=environment,
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=300,
        )

    def show_certificate(self) -> None:
        self.control("eval", "ssl:clear_pem_cache().")

    def url(self, user: str = USER, password: str = PASSWORD, vhost: str = "") -> str:
        return f"amqp://{user}:{password}@{self.address}/{vhost}"

    def settings(self, **overrides: str) -> Settings:
        return {
            "url": self.url(),
            "exchange": self.destination,
            "exchange_type": "fanout",
            "routing_key": ROUTING_KEY,
            "durable": "on",
            **overrides,
        }

    def wrong_password_settings(self, **overrides: str) -> Settings:
        return self.settings(**{"url": self.url(password="wr0ng-s3cret"), **overrides})

    def limited_settings(self, **overrides: str) -> Settings:
        """Return `settings` with the user who may only publish."""
        limited = {"url": self.url(LIMITED_USER, LIMITED_PASSWORD), "exchange_type": ""}
        return self.settings(**{**limited, "durable": "off", **overrides})

    def encrypted(self, *, demanding: bool) -> Settings:
        host = "localhost" if demanding else "127.0.0.1"
        return {"url": f"amqps://{USER}:{PASSWORD}@{host}:{self.tls_port}/"}

    def received(self, destination: str = "") -> list[Arrival]:
        return [
            Arrival(body=body, headers=_headers(properties))
            for properties, body in self.messages(destination)
        ]

    def messages(self, queue: str = "") -> list[tuple[pika.BasicProperties, bytes]]:
        """Return a queue's messages, by default those of `destination`, without removing them."""
        messages: list[tuple[pika.BasicProperties, bytes]] = []
        with self.channel() as channel:
            name = queue or self.destination
            count = channel.queue_declare(name, passive=True).method.message_count
            if count:
                for _, properties, body in channel.consume(name, inactivity_timeout=60):
                    assert properties is not None, f"got {len(messages)} of {count} messages"
                    messages.append((properties, body))
                    if len(messages) == count:
                        break
        return messages

    def clear(self) -> None:
        with self.channel() as channel:
            channel.exchange_delete(self.destination)
            channel.queue_delete(self.destination)
        self.declare()

    def start_again(self) -> None:
        """See `Server`; the queue's owner declares it again, as consumers do.

        Busy, RabbitMQ 3.10 sometimes comes back from a kill without a binding.
        """
        super().start_again()
        self.declare()

    def declare(self) -> None:
        """Declare the exchange and the queue of `destination`."""
        with self.channel() as channel:
            channel.exchange_declare(self.destination, "fanout", durable=True)
            channel.queue_declare(self.destination, durable=True, arguments=_ON_DISK)
            channel.queue_bind(self.destination, self.destination)


def start(folder: Path, tls: Tls) -> AmqpServer:
    """Start RabbitMQ with its data in `folder`; see `servers.Module.start`."""
    # Debian's script in /usr/sbin would change the user; it is a link beside the real one.
    program = Path(find_program("rabbitmq-server", "/opt/homebrew/sbin", "/usr/local/sbin"))
    epmd = find_program("epmd", "/opt/homebrew/bin", "/usr/local/bin")
    folder.mkdir(parents=True, exist_ok=True)
    chosen = ports(folder, "plain", "tls", "node", "epmd")
    files = {
        "rabbitmq.conf": _CONFIGURATION.format(**chosen, folder=folder, largest=LARGEST_MESSAGE),
        "advanced.config": _TLS_OPTIONS.format(ca=tls.ca, cert=tls.server_cert, key=tls.server_key),
        "enabled_plugins": "[rabbitmq_auth_mechanism_ssl].",
        "definitions.json": json.dumps(_definitions()),
    }
    for name, content in files.items():
        (folder / name).touch(mode=0o600)
        (folder / name).write_text(content)
    process = Process(
        ["sh", "-c", _WITH_EPMD, "sh", epmd, str(program.resolve().with_name(program.name))],
        folder,
        ready=lambda: server.connect().close(),
        not_ready_yet=AmqpServer.refusals,
        environment={
            "HOME": str(folder),  # where Erlang keeps its cookie
            "RABBITMQ_NODENAME": "bucketcast@localhost",
            "RABBITMQ_DIST_PORT": str(chosen["node"]),
            "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(folder),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(folder / "advanced.config"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
            "RABBITMQ_CONF_ENV_FILE": str(folder / "none"),
            "RABBITMQ_PID_FILE": str(folder / "pid-of-erlang"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": _ERLANG,
            "ERL_EPMD_PORT": str(chosen["epmd"]),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
        },
    )
    server = AmqpServer(process, tls, chosen["plain"], chosen["tls"])
    process.start()
    server.declare()
    return server


def _definitions() -> dict[str, object]:
    """Return users, virtual hosts and permissions, which RabbitMQ loads when it starts."""
    users = [(USER, PASSWORD), (LIMITED_USER, LIMITED_PASSWORD), (CLIENT_NAME, CLIENT_PASSWORD)]
    everything = {"configure": ".*", "write": ".*", "read": ".*"}
    publishing = {"configure": "", "write": r"^ev\.", "read": ""}
    return {
        "users": [
            {"name": name, "password_hash": password_hash(password), "tags": ""}
            for name, password in users
        ],
        "vhosts": [{"name": "/"}, {"name": OTHER_VHOST}],
        "permissions": [
            {"user": USER, "vhost": "/", **everything},
            {"user": USER, "vhost": OTHER_VHOST, **everything},
            {"user": LIMITED_USER, "vhost": "/", **publishing},
            {"user": CLIENT_NAME, "vhost": "/", **everything},
        ],
    }


def password_hash(password: str) -> str:
    """Return RabbitMQ's hash: a salt of 32 bits, then SHA-256 of salt and password."""
    salt = b"salt"
    return base64.b64encode(salt + hashlib.sha256(salt + password.encode()).digest()).decode()


def _headers(properties: pika.BasicProperties) -> dict[str, str]:
    """Return a message's headers, with the properties `content-type` and `message-id`."""
    own_headers = {"content-type": properties.content_type, "message-id": properties.message_id}
    headers = own_headers | (properties.headers or {})
    return {name: str(value) for name, value in headers.items() if value is not None}
