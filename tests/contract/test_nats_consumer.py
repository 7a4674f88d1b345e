"""The consumer in examples/ prints what a target publishes."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import cast

from bucketcast.settings.options import read
from bucketcast.targets.nats import Target
from tests.contract.consumers import Consumer, consumer, failure, words
from tests.contract.trial import DELETE, event
from tests.servers import Server
from tests.servers.nats import TOKEN, NatsServer


def subscriber(
    server: NatsServer, *options: str, token: str = TOKEN
) -> AbstractContextManager[Consumer]:
    return consumer("nats", server.address, server.destination, *options, NATS_TOKEN=token)


def waiting(server: NatsServer) -> list[str]:
    return ["waiting", "for", "events", "of", server.destination]


def test_a_subscriber_sees_what_is_published(server: Callable[[str], Server]) -> None:
    core = cast("NatsServer", server("nats-core"))
    with subscriber(core) as program, Target(read(Target.Settings, core.settings())) as target:
        assert words(program) == waiting(core)
        batch = [event("a é.jpg", 42), event("gone", 43, DELETE)]
        assert target.send(batch) == {}
        assert words(program) == [batch[0].time, batch[0].name, "uploads/a", "é.jpg", "42"]
        assert words(program) == [batch[1].time, batch[1].name, "uploads/gone", "-"]


def test_a_stream_is_read_from_where_the_reader_was(server: Callable[[str], Server]) -> None:
    jetstream = cast("NatsServer", server("nats-jetstream"))
    with Target(read(Target.Settings, jetstream.settings())) as target:
        for key, at in (("before", 1), ("meanwhile", 2)):
            assert target.send([event(key, at)]) == {}
            with subscriber(jetstream, "--stream", "--durable", "reader") as program:
                lines = [words(program), words(program)]
            assert waiting(jetstream) in lines
            assert f"uploads/{key}" in [line[-2] for line in lines]


def test_a_refused_login_is_reported(server: Callable[[str], Server]) -> None:
    with subscriber(cast("NatsServer", server("nats-core")), token="wr0ng-s3cret") as program:
        assert "cannot read ev.events: nats: 'Authorization Violation'" in failure(program)
