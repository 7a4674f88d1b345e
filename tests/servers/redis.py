"""Redis with a password, a user who may only touch `ev:*`, TLS, and no write lost by a kill."""

from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.servers import Arrival, Server, Settings
from tests.servers.machine import find_program, ports
from tests.servers.process import Process
from tests.servers.tls import Tls

PASSWORD = "default-s3cret"
LIMITED_USER = "alice"
LIMITED_PASSWORD = "alice-s3cret"
"""May use keys that begin with `ev:` and no dangerous command but INFO."""

_USERS = f"""\
user default on >{PASSWORD} ~* &* +@all
user {LIMITED_USER} on >{LIMITED_PASSWORD} ~ev:* resetchannels &ev:* +@all -@dangerous +info
"""

_ONCE = Retry(NoBackoff(), 0)

# Each answer is sent after the write, so only a crash of the machine, not of the server, loses it:
# with "everysec" a write waits for up to two seconds while another thread syncs.
_CONFIGURATION = """\
bind 127.0.0.1
port {plain}
dir "{folder}"
save ""
appendonly yes
appendfsync no
daemonize no
tls-port {tls}
tls-cert-file "{cert}"
tls-key-file "{key}"
tls-ca-cert-file "{ca}"
tls-auth-clients optional
aclfile "{users}"
"""


class RedisServer(Server):
    """Its `destination` is a key."""

    kind = "redis"
    destination = "ev:events"
    password_option = "password"

    def __init__(self, process: Process, tls: Tls, plain: int, tls_port: int) -> None:
        super().__init__(process, tls, plain)
        self.tls_port = tls_port

    def connect(self) -> redis.Redis:
        """The default user's client; the caller closes it."""
        return redis.Redis(
            host="127.0.0.1",
            port=self.port,
            password=PASSWORD,
            socket_timeout=60,
            retry=_ONCE,
        )

    def settings(self, **overrides: str) -> Settings:
        return {
            "address": self.address,
            "password": PASSWORD,
            "key": self.destination,
            **overrides,
        }

    def limited_settings(self, **overrides: str) -> Settings:
        """As `settings`, with the user who may only touch `ev:*`."""
        return self.settings(
            **{"user": LIMITED_USER, "password": LIMITED_PASSWORD, **overrides},
        )

    def encrypted(self, *, demanding: bool) -> Settings:
        """See `Server`; its one TLS port demands certificates until this is called again."""
        with self.connect() as client:
            client.config_set("tls-auth-clients", "yes" if demanding else "optional")
        return {"address": f"127.0.0.1:{self.tls_port}", "tls": "on"}

    def write(self, key: str, body: bytes) -> None:
        with self.connect() as client:
            client.hset(self.destination, key, body)

    def received(self, destination: str = "") -> list[Arrival]:
        key = destination or self.destination
        with self.connect() as client:
            kind = client.type(key)  # one that does not exist may be created as either meanwhile
            if kind == b"list":
                return [Arrival(body=entry) for entry in client.lrange(key, 0, -1)]
            fields = client.hgetall(key) if kind == b"hash" else {}
        return [Arrival(key=name.decode(), body=fields[name]) for name in sorted(fields)]

    def clear(self) -> None:
        with self.connect() as client:
            client.flushall()
            client.script_flush()
            client.config_set("tls-auth-clients", "optional")


def start(folder: Path, tls: Tls) -> RedisServer:
    """Start Redis with its data in `folder`; see `servers.Module.start`."""
    program = find_program("redis-server")
    folder.mkdir(parents=True, exist_ok=True)
    chosen = ports(folder, "plain", "tls")
    users = folder / "users.acl"
    users.touch(mode=0o600)
    users.write_text(_USERS)
    configuration = folder / "redis.conf"
    configuration.write_text(
        _CONFIGURATION.format(
            **chosen,
            folder=folder,
            cert=tls.server_cert,
            key=tls.server_key,
            ca=tls.ca,
            users=users,
        )
    )

    def ready() -> None:
        with server.connect() as client:
            client.ping()

    process = Process(
        [program, str(configuration)],
        folder,
        ready=ready,
        not_ready_yet=(redis.ConnectionError, redis.TimeoutError),
    )
    server = RedisServer(process, tls, chosen["plain"], chosen["tls"])
    process.start()
    return server
