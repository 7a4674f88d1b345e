"""The consumer in examples/ prints what the target wrote."""

from collections.abc import Callable

from bucketcast.settings.options import read
from bucketcast.targets.kafka import Target
from tests.contract.consumers import PUT, complaint, consumer, words
from tests.contract.trial import DELETE, event
from tests.servers import Server
from tests.servers.kafka import PASSWORD, USER

LOGIN = {"KAFKA_USERNAME": USER, "KAFKA_PASSWORD": PASSWORD}


def test_the_kafka_consumer_prints_old_events_and_new_ones(server: Callable[[str], Server]) -> None:
    kafka = server("kafka")
    with (
        Target(read(Target.Settings, kafka.settings())) as target,
        consumer("kafka", kafka.address, kafka.destination, **LOGIN) as program,
    ):
        assert target.send([event("a b.jpg", 1), event("é.jpg", 2, DELETE)]) == {}
        assert words(program) == PUT
        assert words(program)[1:] == ["s3:ObjectRemoved:Delete", "uploads/é.jpg", "-"]
        assert target.send([event("new", 3)]) == {}
        assert words(program)[1:] == ["s3:ObjectCreated:Put", "uploads/new", "3"]


def test_a_missing_topic_is_waited_for(server: Callable[[str], Server]) -> None:
    with consumer("kafka", server("kafka").address, "nothing", **LOGIN) as program:
        assert complaint(program) == "waiting for nothing\n"
