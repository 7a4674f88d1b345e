"""Topics that push to each kind of endpoint, up, down and up again."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tests.conftest import start_or_fail
from tests.e2e.secure_gateway import client, secure_gateway
from tests.e2e.system import RETURN_SECONDS, System
from tests.servers.amqp import AmqpServer
from tests.servers.kafka import KafkaServer
from tests.servers.receiver import Answer
from tests.servers.tls import Tls

BUCKET = "uploads"
EXCHANGE = "topics"


@pytest.fixture(scope="module")
def rabbit(servers_folder: Path, tls: Tls) -> Iterator[AmqpServer]:
    server = cast("AmqpServer", start_or_fail("amqp", servers_folder / "topics" / "amqp", tls))
    with server.channel() as channel:
        channel.exchange_declare(EXCHANGE, "topic", durable=True)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def broker(servers_folder: Path, tls: Tls) -> Iterator[KafkaServer]:
    server = cast("KafkaServer", start_or_fail("kafka", servers_folder / "topics" / "kafka", tls))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def url(system: System, servers_folder: Path) -> Iterator[str]:
    with secure_gateway(system, servers_folder / "topics" / "gateway") as url:
        yield url


@pytest.fixture(scope="module")
def s3(system: System) -> Iterator[Any]:
    made = client(system, "s3")
    yield made
    made.close()


class Topics:
    """Makes topics, each with a notification of the test's keys; all are deleted in the end."""

    def __init__(self, system: System, s3: Any, sns: Any, prefix: str) -> None:
        self._system, self._s3, self._sns, self._prefix = system, s3, sns, prefix
        self._made: dict[str, str] = {}

    def name(self, short: str) -> str:
        return f"{self._prefix.strip('/')}-{short}"

    def make(self, short: str, endpoint: str, *, persistent: bool, **attributes: str) -> str:
        given = {key.replace("__", "-"): text for key, text in attributes.items()}
        if persistent:
            given = {"retry_sleep_duration": "1", **given, "persistent": "true"}
        given["push-endpoint"] = endpoint
        arn = str(self._sns.create_topic(Name=self.name(short), Attributes=given)["TopicArn"])
        self._made[short] = arn
        below = {"Key": {"FilterRules": [{"Name": "prefix", "Value": self._prefix}]}}
        wanted = {"Id": self.name(short), "TopicArn": arn, "Events": ["s3:ObjectCreated:*"]}
        self._s3.put_bucket_notification_configuration(
            Bucket=BUCKET,
            NotificationConfiguration={"TopicConfigurations": [{**wanted, "Filter": below}]},
        )
        return arn

    def put(self, key: str) -> None:
        self._system.put(BUCKET, self._prefix + key)

    def keys(self, bodies: list[bytes]) -> list[str]:
        """The keys of records, without the test's prefix."""
        records = [json.loads(body)["Records"] for body in bodies]
        assert all(len(each) == 1 for each in records)
        found = [each["s3"]["object"]["key"] for (each,) in records]
        return [key.removeprefix(self._prefix) for key in found]

    def pushed(self, short: str) -> tuple[int, int, int]:
        """Events pushed, tries failed, events given up, as `bucketcast topic stats` says."""
        stats = self._stats(short)
        return stats["pushed"], stats["failed"], stats["dead"]

    def waiting(self, short: str) -> int:
        return int(self._stats(short)["Topic Stats"]["Entries"])

    def _stats(self, short: str) -> dict[str, Any]:
        ran = self._system.bucketcast("topic", "stats", self.name(short), "--json")
        assert ran.code == 0, ran.err
        return dict(ran.document)

    def lost(self, short: str) -> tuple[int, int]:
        """Of one that is not persistent: events pushed and lost, as `target ls --json` says."""
        ran = self._system.bucketcast("target", "ls", "--json")
        assert ran.code == 0, ran.err
        found = {each["arn"]: each["events"] for each in ran.document["others"]}
        events = found.get(self._made[short], {"sent": 0, "dead": 0})
        return (events["sent"], events["dead"])

    def until(self, what: str, look: Callable[[], object], wanted: object) -> None:
        self._system.until_equal(what, look, wanted, within=RETURN_SECONDS)

    def until_tried(self, short: str) -> None:
        """Until a try of it failed and the event waits."""
        self._system.until(
            f"{short} was tried",
            lambda: self.pushed(short),
            lambda seen: seen[1] >= 1,
        )
        assert self.pushed(short)[2] == 0
        # SQS may hand the upload to ingest twice, the sooner the busier the machine is.
        assert self.waiting(short) >= 1

    def close(self) -> None:
        for short, arn in self._made.items():
            ran = self._system.bucketcast(
                "notification", "rm", "--bucket", BUCKET, "--notification-id", self.name(short)
            )
            assert ran.code == 0, ran.err
            self._sns.delete_topic(TopicArn=arn)


@pytest.fixture
def topics(system: System, s3: Any, url: str, prefix: str) -> Iterator[Topics]:
    sns = client(system, "sns", url)
    made = Topics(system, s3, sns, prefix)
    yield made
    made.close()
    sns.close()


def test_persistent_topics_deliver_when_their_server_returns(
    system: System, topics: Topics, rabbit: AmqpServer, broker: KafkaServer, prefix: str
) -> None:
    hook = system.consumers.flaky
    endpoints = {
        "http": (f"http://{hook.address}/open/{prefix}", {}),
        "amqp": (rabbit.url(), {"amqp__exchange": EXCHANGE, "amqp__ack__level": "routable"}),
        "kafka": (f"kafka://127.0.0.1:{broker.ports['open']}", {}),
    }
    for scheme, (endpoint, attributes) in endpoints.items():
        for kind in ("kept", "once"):
            short = f"{kind}-{scheme}"
            if scheme == "kafka":
                broker.create_topic(topics.name(short))
            if scheme == "amqp":
                with rabbit.channel() as channel:
                    channel.queue_declare(topics.name(short), durable=True)
                    channel.queue_bind(topics.name(short), EXCHANGE, topics.name(short))
            path = short if scheme == "http" else ""
            topics.make(short, endpoint + path, persistent=kind == "kept", **attributes)
    hook.answer(Answer(status=503, match=prefix))
    rabbit.stop()
    broker.stop()
    topics.put("a")
    for scheme in endpoints:
        short = f"once-{scheme}"
        topics.until("it is lost", lambda short=short: topics.lost(short), (0, 1))  # type: ignore[misc]
    for scheme in endpoints:
        topics.until_tried(f"kept-{scheme}")
    hook.answer()
    rabbit.start_again()
    broker.start_again()

    def arrived() -> dict[str, set[str]]:
        posted = [
            each.body
            for each in hook.requests()
            if each.path.startswith(f"/open/{prefix}") and each.status == 200
        ]
        return {
            "http": {*topics.keys(posted)},
            **{
                f"{kind}-amqp": {
                    *topics.keys([body for _, body in rabbit.messages(topics.name(f"{kind}-amqp"))])
                }
                for kind in ("kept", "once")
            },
            **{
                f"{kind}-kafka": {
                    *topics.keys(
                        [each.body for each in broker.received(topics.name(f"{kind}-kafka"))]
                    )
                }
                for kind in ("kept", "once")
            },
        }

    wanted = {
        "http": {"a"},
        "kept-amqp": {"a"},
        "once-amqp": set(),
        "kept-kafka": {"a"},
        "once-kafka": set(),
    }
    topics.until("what is persistent arrives", arrived, wanted)
