"""Print the events of a target as they arrive: time, name, bucket/key, size in bytes.

    .venv/bin/python examples/consume.py kafka --brokers localhost:9092 --topic bucketevents

The options are the target's own, as `bucketcast.toml` has them; `--help` after the kind lists them.
Each can also be a variable, which is the place for secrets: `KAFKA_SASL_PASSWORD` is Kafka's
`sasl_password`. It waits until its topic, table or index exists. An event is acknowledged only when
it is printed. The same event may come twice, as with every target.

All kinds are in this one file, so that it can be copied and run without installing Bucketcast.
"""

import argparse
import asyncio
import base64
import contextlib
import hmac
import inspect
import json
import os
import re
import socket
import struct
import sys
import time
from collections.abc import Callable
from email.message import Message
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, unquote_plus, urlsplit
from urllib.request import Request, urlopen

NSQ_MESSAGE = 2


def show(body: Any) -> None:
    """Print the events of a message, which is JSON or parsed from it."""
    message = body if isinstance(body, dict) else json.loads(body)
    for record in message["Records"]:
        print(line(record), flush=True)


def line(record: dict[str, Any]) -> str:
    """Format one event. A key in a record is URL-encoded; a delete has no size."""
    s3 = record["s3"]
    key = unquote_plus(s3["object"]["key"])
    size = s3["object"].get("size", "-")
    name, at = record["eventName"], record["eventTime"]
    return f"{at:<24}  {name:<40}  {s3['bucket']['name']}/{key}  {size}"


def waiting(place: str) -> None:
    print(f"waiting for events of {place}", file=sys.stderr, flush=True)


def follow(place: str, read: Callable[[], dict[str, Any] | None]) -> None:
    """Show the rows of a small table that appear, change or go.

    `read` returns the bodies of all rows by key, or None while there is no table.
    """
    known: dict[str, Any] = {}
    current = read()
    waiting(place)
    while True:
        if current is not None:
            for row, body in current.items():
                if body != known.get(row):
                    show(body)
            for row in known.keys() - current.keys():
                print(f"{'gone':<66}  {row}", flush=True)
            known = current
        time.sleep(1)
        current = read()


def rows(cursor: Any) -> dict[str, Any]:
    """Return the bodies of a table by key, or of a log, which has no key, by the whole row."""
    mirrors = cursor.description[0][0] in ("key", "key_name")
    return {row[0] if mirrors else str(row): row[-1] for row in cursor.fetchall()}


def amqp(url: str, exchange: str, exchange_type: str = "fanout", durable: str = "off") -> None:
    """Read RabbitMQ.

        .venv/bin/pip install pika
        export AMQP_URL=amqp://myuser:mypassword@localhost:5672
        .venv/bin/python examples/consume.py amqp --exchange bucketevents --exchange_type fanout

    Its queue is deleted when it ends; a durable one would keep events while no program reads.
    """
    import pika

    with pika.BlockingConnection(pika.URLParameters(url)) as connection:
        channel = connection.channel()
        channel.exchange_declare(exchange, exchange_type, durable=durable == "on")
        queue = channel.queue_declare("", exclusive=True).method.queue
        channel.queue_bind(queue, exchange, "#")
        waiting(exchange)
        for method, _, body in channel.consume(queue):
            show(body)
            channel.basic_ack(method.delivery_tag)


def elasticsearch(url: str, index: str, username: str = "", password: str = "") -> None:
    """Follow an index of Elasticsearch or OpenSearch, of up to 10,000 documents.

    .venv/bin/python examples/consume.py elasticsearch --url http://localhost:9200 --index bucketevents
    """  # noqa: E501 - a command
    login = base64.b64encode(f"{username}:{password}".encode()).decode()
    headers = {"Content-Type": "application/json"}
    headers |= {"Authorization": f"Basic {login}"} if username else {}
    search = {"size": 10_000, "sort": [{"Records.eventTime": "asc"}]}
    address = f"{url.rstrip('/')}/{quote(index)}/_search"
    request = Request(address, json.dumps(search).encode(), headers)  # noqa: S310 - the caller's

    def read() -> dict[str, Any] | None:
        try:
            with urlopen(request, timeout=10) as response:  # noqa: S310 - as above
                return {hit["_id"]: hit["_source"] for hit in json.load(response)["hits"]["hits"]}
        except HTTPError as error:
            if error.code in (HTTPStatus.NOT_FOUND, HTTPStatus.SERVICE_UNAVAILABLE):
                return None  # no such index, or no shard of it can be searched yet
            raise

    follow(index, read)


def kafka(brokers: str, topic: str, sasl_username: str = "", sasl_password: str = "") -> None:
    """Read a topic of Kafka from its beginning, without committing offsets.

    .venv/bin/pip install "kafka-python[lz4,snappy,zstd]"
    .venv/bin/python examples/consume.py kafka --brokers localhost:9092 --topic bucketevents
    """
    import logging

    from kafka import KafkaConsumer, TopicPartition

    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # without a broker many lines a second
    login = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN"}
    login |= {"sasl_plain_username": sasl_username, "sasl_plain_password": sasl_password}
    waiting(topic)
    consumer = KafkaConsumer(
        bootstrap_servers=brokers.split(","),
        bootstrap_timeout_ms=10_000,
        enable_auto_commit=False,
        **(login if sasl_username else {}),
    )
    if not consumer.partitions_for_topic(topic):
        print(f"{topic} is not there yet, or not allowed", file=sys.stderr, flush=True)
    while not (numbers := consumer.partitions_for_topic(topic)):
        time.sleep(1)
    partitions = [TopicPartition(topic, number) for number in numbers]
    consumer.assign(partitions)
    consumer.seek_to_beginning(*partitions)
    for message in consumer:
        show(message.value)


def mqtt(
    broker: str, topic: str, username: str = "", password: str = "", client_id: str = ""
) -> None:
    """Subscribe to a topic of an MQTT broker.

        .venv/bin/pip install paho-mqtt
        .venv/bin/python examples/consume.py mqtt --broker tcp://localhost:1883 --topic bucketevents

    With `--client_id` the broker keeps events for a week while this program is down.
    """
    from paho.mqtt.client import Client, MQTTv5
    from paho.mqtt.enums import CallbackAPIVersion
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties

    def connected(client: Client, _data: Any, _flags: Any, code: Any, _properties: Any) -> None:
        if code.is_failure:
            raise ConnectionError(f"the broker refuses: {code}")
        client.subscribe(topic, qos=1)

    def subscribed(_client: Any, _data: Any, _id: int, codes: Any, _properties: Any) -> None:
        if codes[0].is_failure:
            raise ConnectionError(f"the broker refuses the subscription: {codes[0]}")
        waiting(topic)

    client = Client(CallbackAPIVersion.VERSION2, client_id, protocol=MQTTv5)
    client.on_connect, client.on_subscribe = connected, subscribed
    client.on_message = lambda _client, _data, message: show(message.payload)
    client.username_pw_set(username or None, password or None)
    session = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
    session.SessionExpiryInterval = 7 * 86_400 if client_id else 0
    server = urlsplit(broker)
    port = server.port or 1883
    client.connect(server.hostname or "", port, clean_start=not client_id, properties=session)
    client.loop_forever()


def mysql(dsn_string: str, table: str) -> None:
    """Follow a small table of MySQL.

    .venv/bin/pip install 'pymysql[rsa]'
    export MYSQL_DSN_STRING='user:password@tcp(localhost:3306)/minio_events'
    .venv/bin/python examples/consume.py mysql --table bucketevents
    """
    import pymysql

    login = re.fullmatch(r"(.*?):(.*)@tcp\((.*):(\d+)\)/(\w+).*", dsn_string)
    if login is None:
        raise ValueError("dsn_string is not user:password@tcp(host:port)/database")
    user, password, host, port, database = login.groups()
    name = table.replace("`", "``")
    with pymysql.connect(
        host=host, port=int(port), user=user, password=password, database=database, autocommit=True
    ) as connection:
        cursor = connection.cursor()

        def read() -> dict[str, Any] | None:
            if not cursor.execute("SHOW TABLES LIKE %s", (table,)):
                return None
            cursor.execute(f"SELECT * FROM `{name}`")  # noqa: S608 - quoted
            return rows(cursor)

        follow(table, read)


def nats(
    address: str, subject: str, token: str = "", jetstream: str = "off", durable: str = ""
) -> None:
    """Subscribe to a subject of NATS.

        .venv/bin/pip install nats-py
        .venv/bin/python examples/consume.py nats --address localhost:4222 --subject bucketevents

    `--jetstream on` reads a stream from its beginning; with `--durable NAME` it continues where it
    was. A channel of NATS Streaming has no Python client any more; use stan.go.
    """
    from nats.aio.client import Client

    async def listen() -> None:
        client = Client()

        async def failed(error: Exception) -> None:
            if not client.is_connected:
                raise error  # otherwise it would retry silently

        await client.connect(
            f"nats://{address}", error_cb=failed, allow_reconnect=False, token=token or None
        )
        subscription: Any
        if jetstream == "on":
            stream = client.jetstream()
            subscription = await stream.subscribe(subject, durable=durable, manual_ack=True)
        else:
            subscription = await client.subscribe(subject)
        await client.flush()
        if client.last_error:
            raise client.last_error
        waiting(subject)
        async for message in subscription.messages:
            show(message.data)
            if jetstream == "on":
                await message.ack()
        raise client.last_error or ConnectionError("the server ended the connection")

    asyncio.run(listen())


def nsq(nsqd_address: str, topic: str, channel: str = "", auth_secret: str = "") -> None:
    """Read a topic of NSQ from now on, as `nsq_tail` does.

        .venv/bin/python examples/consume.py nsq --nsqd_address localhost:4150 --topic bucketevents

    With `--channel` it reads that channel, which keeps events while no program reads. In your own
    program, use a client library such as pynsq.
    """
    host, _, port = nsqd_address.rpartition(":")
    nsqd = socket.create_connection((host, int(port)))
    frames = nsqd.makefile("rb")

    def send(command: str, body: bytes | None = None) -> None:
        sized = b"" if body is None else struct.pack(">i", len(body)) + body
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # a frame has the reason
            nsqd.sendall(command.encode() + sized)

    send("  V2")
    if auth_secret:
        send("AUTH\n", auth_secret.encode())
    send(f"SUB {topic} {channel or f'tail{os.getpid()}#ephemeral'}\n")
    send("RDY 1\n")
    while head := frames.read(8):
        size, type_ = struct.unpack(">ii", head)
        data = frames.read(size - 4)
        if type_ == NSQ_MESSAGE:  # 8 bytes of time, 2 of attempts, 16 of id
            show(data[26:])
            send(f"FIN {data[10:26].decode()}\n")
        elif data == b"_heartbeat_":
            send("NOP\n")
        elif data == b"OK":
            waiting(topic)
        elif data.startswith(b"E_"):
            raise ConnectionError(data.decode())


def postgres(connection_string: str, table: str) -> None:
    """Follow a small table of PostgreSQL; for a large one, use a trigger with NOTIFY.

    .venv/bin/pip install 'psycopg[binary]'
    export POSTGRES_CONNECTION_STRING='host=localhost port=5432 dbname=minio_events user=postgres password=… sslmode=disable'
    .venv/bin/python examples/consume.py postgres --table bucketevents
    """  # noqa: E501 - a command
    import psycopg
    from psycopg import sql

    with psycopg.connect(connection_string, autocommit=True) as connection:
        name = sql.Identifier(table)

        def read() -> dict[str, Any] | None:
            try:
                return rows(connection.execute(sql.SQL("select * from {}").format(name)))
            except psycopg.errors.UndefinedTable:
                return None

        follow(table, read)


def redis(address: str, key: str, password: str = "", tls: str = "off") -> None:
    """Follow a hash or a small list of Redis.

        .venv/bin/pip install redis
        .venv/bin/python examples/consume.py redis --address localhost:6379 --key bucketevents

    Nothing is removed: a program that must process each event once would use BLMOVE.
    """
    from redis import Redis

    host, _, port = address.rpartition(":")
    client = Redis(host, int(port), password=password or None, ssl=tls == "on")

    def read() -> dict[str, Any] | None:
        if client.type(key) == b"hash":
            return {name.decode(): json.loads(data) for name, data in client.hscan_iter(key)}
        log = enumerate(client.lrange(key, 0, -1))
        return {str(number): json.loads(item)[1] for number, item in log}

    follow(key, read)


def webhook(endpoint: str, auth_token: str = "", signing_secret: str = "") -> None:
    """Receive the requests of webhooks.

        .venv/bin/python examples/consume.py webhook --endpoint http://127.0.0.1:3000/events

    With the target's `auth_token` or `signing_secret` it refuses requests without them. The second
    needs `.venv/bin/pip install standardwebhooks`.
    """
    # A token of two words is sent as it is ("Basic abc"), a single word as "Bearer <word>".
    token = auth_token if " " in auth_token else f"Bearer {auth_token}"

    def is_authorized(headers: Message, body: bytes) -> bool:
        if signing_secret:
            from standardwebhooks import Webhook, WebhookVerificationError

            try:
                Webhook(signing_secret).verify(body, dict(headers))  # the exact bytes of the body
            except WebhookVerificationError:
                return False
        received = headers.get("Authorization", "")
        return not auth_token or hmac.compare_digest(received.encode(), token.encode())

    class Receiver(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # keeps the connection, which saves a handshake per event

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status = HTTPStatus.NO_CONTENT  # after any 2xx Bucketcast does not retry
            try:
                if is_authorized(self.headers, body):
                    show(body)
                else:
                    status = HTTPStatus.UNAUTHORIZED
            except (ValueError, KeyError, TypeError) as error:
                print(f"not an event: {error!r}", file=sys.stderr, flush=True)
                status = HTTPStatus.BAD_REQUEST
            self.send_response(status)
            if status != HTTPStatus.NO_CONTENT:
                self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Log no requests: the output is the events."""

    place = urlsplit(endpoint)
    ThreadingHTTPServer.request_queue_size = 128  # Bucketcast opens many connections at once
    with ThreadingHTTPServer((place.hostname or "", place.port or 80), Receiver) as server:
        waiting(endpoint)
        server.serve_forever()


READERS = amqp, elasticsearch, kafka, mqtt, mysql, nats, nsq, postgres, redis, webhook


def options() -> dict[str, Any]:
    """Read the command line: a kind, and the parameters of its reader as options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kinds = parser.add_subparsers(required=True, metavar="KIND")
    for reader in READERS:
        manual = inspect.getdoc(reader) or ""
        command = kinds.add_parser(
            reader.__name__,
            help=manual.partition("\n")[0],
            description=manual,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.set_defaults(reader=reader)
        for option in inspect.signature(reader).parameters.values():
            default = os.environ.get(f"{reader.__name__}_{option.name}".upper(), option.default)
            required = default is inspect.Parameter.empty
            command.add_argument(f"--{option.name}", required=required, default=default)
    return vars(parser.parse_args())


def main() -> None:
    """Read until interrupted, or until the server ends the connection."""
    arguments = options()
    reader = arguments.pop("reader")
    try:
        reader(**arguments)
    except ModuleNotFoundError as error:
        sys.exit(f"{error}; this is missing:\n\n{inspect.getdoc(reader)}")
    except Exception as error:  # noqa: BLE001 - the clients' errors have nothing in common
        sys.exit(f"cannot read from {reader.__name__}: {type(error).__name__}: {error}")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
