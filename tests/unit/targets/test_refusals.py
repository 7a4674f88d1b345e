"""A refusal by a server may be due to the settings, but not that of an event's size.

What each server refuses when its table or address is wrong was dead-lettered by the million; for
events that are too large a queue in order was blocked.
"""

from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace

import pymysql
import pytest
from pg8000 import DatabaseError
from redis.exceptions import ResponseError

from bucketcast import targets
from bucketcast.delivery.verdict import Answers, possible_faults_of_settings
from bucketcast.errors import DeliveryError, Rejected
from bucketcast.settings.options import read
from bucketcast.targets import webhook
from bucketcast.targets.elasticsearch import errors as elasticsearch
from bucketcast.targets.mysql import errors as mysql
from bucketcast.targets.nats.batch import too_large
from bucketcast.targets.nats.jetstream import JetStream, _Error
from bucketcast.targets.nsq.batch import Limits
from bucketcast.targets.postgres import errors as postgres
from bucketcast.targets.redis import errors as redis
from bucketcast.targets.webhook import errors as webhook_errors
from tests.unit.delivery.bench import PLAIN
from tests.unit.delivery.test_verdict import part
from tests.unit.targets.answers import OF_SERVERS

LARGE = 99_000_000
SIZE = ("bytes", "message size", "larger than the server takes", "answered 413")


def of_elasticsearch() -> Iterator[DeliveryError]:
    for type_ in ("mapper_parsing_exception", "strict_dynamic_mapping_exception", "other"):
        for status in range(400, 600):
            yield elasticsearch.of_document(status, elasticsearch.Error(type_, "it"))


def of_mysql() -> Iterator[DeliveryError]:
    for code in mysql._OUTCOMES:
        yield mysql.delivery_error(pymysql.MySQLError(code, "it"))


def of_nats() -> Iterator[DeliveryError]:
    yield too_large(LARGE, 1)
    for code in (0, 10_054, 10_071):
        yield JetStream._stream_error(_Error(400, code, "it"), LARGE)


def of_nsq() -> Iterator[DeliveryError]:
    yield Limits(message=1).rejection(LARGE)


def of_postgres() -> Iterator[DeliveryError]:
    for code in postgres._OUTCOMES:
        yield postgres.delivery_error(DatabaseError({"C": code, "M": "it"}))


def of_redis() -> Iterator[DeliveryError]:
    settings = read(targets.load("redis").Settings, {"address": "h", "key": "k"})
    for word in redis._HINTS:
        yield redis.delivery_error(ResponseError(word), settings, "there")


def of_webhook() -> Iterator[DeliveryError]:
    handle = SimpleNamespace(getinfo=lambda _: 0)
    settings = read(webhook.Target.Settings, {"endpoint": "http://h"})
    for status in range(300, 600):
        yield webhook_errors.refusal(settings, handle, status, b"")


ANSWERS: dict[str, Callable[[], Iterable[DeliveryError]]] = {
    "amqp": lambda: (error for _, error in OF_SERVERS["amqp"]()),
    "elasticsearch": of_elasticsearch,
    "kafka": lambda: (error for _, error in OF_SERVERS["kafka"]()),
    "mqtt": lambda: (error for _, error in OF_SERVERS["mqtt"]()),
    "mysql": of_mysql,
    "nats": of_nats,
    "nsq": of_nsq,
    "postgres": of_postgres,
    "redis": of_redis,
    "webhook": of_webhook,
}


@pytest.mark.parametrize("kind", targets.kinds())
def test_what_a_server_refuses_for_good_may_be_due_to_the_settings(kind: str) -> None:
    answers = [*ANSWERS[kind]()]
    assert answers
    for error in filter(lambda error: isinstance(error, Rejected), answers):
        its_size = any(word in str(error) for word in SIZE)
        found = possible_faults_of_settings(part(1), Answers({0: error}), PLAIN)
        assert found == (not its_size), str(error)
