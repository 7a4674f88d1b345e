"""The consumer in examples/ prints what a target publishes."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from bucketcast.settings.options import read
from bucketcast.targets.nats import Target
from tests.contract.trial import DELETE, event
from tests.servers import Server
from tests.servers.nats import TOKEN, NatsServer

SCRIPT = Path(__file__).parents[2] / "examples" / "consumers" / "nats.py"


@contextmanager
def consumer(
    server: NatsServer, *options: str, token: str = TOKEN
) -> Iterator[subprocess.Popen[str]]:
    program = subprocess.Popen(
        [sys.executable, str(SCRIPT), server.address, server.destination, *options],
        env={**os.environ, "NATS_TOKEN": token, "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    with program:
        yield program
        program.terminate()


def words(program: subprocess.Popen[str]) -> list[str]:
    assert program.stdout is not None
    return program.stdout.readline().split()


def waiting(server: NatsServer) -> list[str]:
    return ["waiting", "for", "events", "of", server.destination]


def test_who_listens_sees_what_is_published(server: Callable[[str], Server]) -> None:
    core = cast("NatsServer", server("nats-core"))
    with consumer(core) as program, Target(read(Target.Settings, core.settings())) as target:
        assert words(program) == waiting(core)
        batch = [event("a é.jpg", 42), event("gone", 43, DELETE)]
        assert target.send(batch) == {}
        assert words(program) == [batch[0].time, batch[0].name, "uploads/a", "é.jpg", "42"]
        assert words(program) == [batch[1].time, batch[1].name, "uploads/gone", "-"]


def test_a_stream_is_read_from_where_the_reader_was(server: Callable[[str], Server]) -> None:
    jetstream = cast("NatsServer", server("nats-jetstream"))
    with Target(read(Target.Settings, jetstream.settings())) as target:
        assert target.send([event("before")]) == {}
        with consumer(jetstream, "--stream", "--durable", "reader") as program:
            lines = [words(program), words(program)]
            assert waiting(jetstream) in lines
            assert "uploads/before" in [line[-2] for line in lines]
        assert target.send([event("meanwhile", 2)]) == {}
    with consumer(jetstream, "--stream", "--durable", "reader") as program:
        lines = [words(program), words(program)]
        assert waiting(jetstream) in lines
        assert "uploads/meanwhile" in [line[-2] for line in lines]


def test_a_refused_login_is_reported(server: Callable[[str], Server]) -> None:
    core = cast("NatsServer", server("nats-core"))
    with consumer(core, token="wr0ng-s3cret") as program:
        assert program.stderr is not None
        assert "cannot read ev.events: nats: 'Authorization Violation'" in program.stderr.read()
        assert program.wait(10) == 1
