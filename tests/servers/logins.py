"""The login that a target has at each server, and how it is changed while the server is in use.

The servers' own observers and administrators have logins of their own, which stay.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, cast

from tests.servers import (
    Server,
    amqp,
    elasticsearch,
    kafka,
    mqtt,
    mysql,
    nats,
    nsq,
    postgres,
    webhook,
)
from tests.servers import redis as redis_server


class Login(NamedTuple):
    """What a target is given beside a server's usual settings, and the secret part of its login.

    `change(server, old, new)` makes the server take the new secret and refuse the old one; some
    have to be started anew for it. Connections that are open may stay. A secret has the
    `form`. A kind that says nothing here keeps the login that it has.
    """

    secret: str = ""
    change: Callable[[Server, str, str], None] | None = None
    settings: Mapping[str, str] = {}
    form: str = "{}"
    without: tuple[str, ...] = ()

    def of(self, settings: Mapping[str, str]) -> dict[str, str]:
        """A server's usual settings with this login."""
        kept = {name: text for name, text in settings.items() if name not in self.without}
        return {**kept, **self.settings}


def _restarted_with(name: str) -> Callable[[Server, str, str], None]:
    """The secret stands in a file of the server's folder."""

    def change(server: Server, old: str, new: str) -> None:
        _replace(server.process.folder / name, old, new)
        server.stop()
        server.start_again()

    return change


def _replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text, f"{file} does not have the secret"
    file.write_text(text.replace(old, new))


def _amqp(server: Server, _: str, new: str) -> None:
    made = cast("amqp.AmqpServer", server)
    definitions = server.process.folder / "definitions.json"  # read at each start
    users = json.loads(definitions.read_text())
    for user in users["users"]:
        if user["name"] == amqp.USER:
            user["password_hash"] = amqp.password_hash(new)
    definitions.write_text(json.dumps(users))
    made.control("change_password", amqp.USER, new)
    made.password = new


def _mqtt(server: Server, _: str, new: str) -> None:
    cast("mqtt.MqttServer", server).change_password(new)


def _mysql(server: Server, _: str, new: str) -> None:
    made = cast("mysql.MysqlServer", server)
    with closing(made.connect()) as connection, connection.cursor() as cursor:
        cursor.execute(f"ALTER USER {mysql.USER}@'%%' IDENTIFIED BY %s", [new])


def _nats(server: Server, _: str, new: str) -> None:
    made = cast("nats.NatsServer", server)
    made.change_login({"token": new}, nats.LOGIN.replace(nats.TOKEN, new))


def _postgres(server: Server, _: str, new: str) -> None:
    with cast("postgres.PostgresServer", server).connect() as connection:
        connection.execute(f"ALTER ROLE {postgres.USER} PASSWORD '{new}'".encode())


def _redis(server: Server, old: str, new: str) -> None:
    with cast("redis_server.RedisServer", server).connect() as client:
        change = ("ACL", "SETUSER", redis_server.LIMITED_USER, f"<{old}", f">{new}")
        client.execute_command(*change)
        client.acl_save()


def _nginx(server: Server, old: str, new: str) -> None:
    front = elasticsearch.authorization
    change = _restarted_with("nginx.conf")
    change(server, front({"api_key": old}), front({"api_key": new}))


_LOGINS: Mapping[str, Login] = {
    "amqp": Login(amqp.PASSWORD, _amqp),
    "elasticsearch": Login(
        elasticsearch.API_KEY,
        _nginx,
        {"api_key": elasticsearch.API_KEY},
        form=elasticsearch.API_KEY.partition(":")[0] + ":{}",
        without=("username", "password"),
    ),
    "kafka": Login(kafka.PASSWORD, _restarted_with("server.properties")),
    "mqtt": Login(mqtt.PASSWORD, _mqtt),
    "mysql": Login(mysql.PASSWORD, _mysql),
    "nats": Login(nats.TOKEN, _nats),
    "nsq": Login(
        nsq.LIMITED_SECRET, _restarted_with("authority.json"), {"auth_secret": nsq.LIMITED_SECRET}
    ),
    "postgres": Login(postgres.PASSWORD, _postgres),
    "redis": Login(
        redis_server.LIMITED_PASSWORD,
        _redis,
        {"user": redis_server.LIMITED_USER, "password": redis_server.LIMITED_PASSWORD},
    ),
    "webhook": Login(webhook.TOKEN, _restarted_with("receiver.json")),
}


def login_of(kind: str) -> Login:
    """The login of a target of that kind."""
    return _LOGINS.get(kind, Login())
