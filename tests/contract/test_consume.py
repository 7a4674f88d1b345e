"""`examples/consume.py` prints what targets deliver."""

from pathlib import Path

from tests.contract.case import DELETE, Case, event
from tests.contract.reader import Reader, failure, reader, wait_until_reading, words
from tests.servers import Server, Settings
from tests.servers.mqtt import OBSERVER, OBSERVER_PASSWORD
from tests.servers.nsq import NsqServer

KEEPS = {"elasticsearch", "kafka", "mysql", "postgres", "redis"}
"""Kinds whose server has what came before the reader."""
RESUMES = {
    "mqtt": {"client_id": "mine"},
    "nats": {"jetstream": "on", "durable": "mine"},
    "nsq": {"channel": "mine"},
}
"""What makes a server keep for a reader what it has not confirmed."""


def settings_of(server: Server, **more: str) -> Settings:
    """What a reader of this server needs."""
    if server.kind == "mqtt":
        more = {"username": OBSERVER, "password": OBSERVER_PASSWORD, **more}
    return server.settings(**more)


def test_a_reader_prints_delivered_events(readable: Case) -> None:
    server, kind = readable.server, readable.layout.kind
    if isinstance(server, NsqServer):
        server.configure(mem_queue_size=None)  # where a channel without a disk has its events
    sender = readable.sender()
    put, delete = event("a é.jpg", 42), event("a é.jpg", 43, DELETE)
    with reader(kind, readable.layout_settings(settings_of(server))) as program:
        wait_until_reading(program, server.destination)
        assert sender.send([put]) == {}
        assert words(program) == [put.time, put.name, "uploads/a", "é.jpg", "42"]
        assert sender.send([delete]) == {}
        gone = ["gone"] if readable.layout.mirrors else [delete.time, delete.name]
        size = [] if readable.layout.mirrors else ["-"]
        assert words(program) == [*gone, "uploads/a", "é.jpg", *size]
    if kind in KEEPS:
        assert sender.send([event("b", 44)]) == {}
        with reader(kind, readable.layout_settings(settings_of(server))) as again:
            lines = [words(again) for _ in range(1 if readable.layout.mirrors else 3)]
        assert lines[-1][2:] == ["uploads/b", "44"]


def test_unprinted_events_are_delivered_again(resumable: Case) -> None:
    server, kind = resumable.server, resumable.layout.kind
    if isinstance(server, NsqServer):
        server.configure(msg_timeout="1s")  # until it repeats what was not confirmed
    settings = {**settings_of(server), **RESUMES[kind]}
    with reader(kind, settings) as program:
        wait_until_reading(program, server.destination)
    sender = resumable.sender()
    assert sender.send([event("first", 1)]) == {}
    if kind != "nats":  # which would repeat it after 30 seconds
        with Path("/dev/full").open("w") as full, reader(kind, settings, output=full) as program:
            assert "No space left on device" in failure(program)
    with reader(kind, settings) as program:
        assert words(program)[2:] == ["uploads/first", "1"]
        assert sender.send([event("second", 2)]) == {}
        wait_for(program, "uploads/second", "2")
    assert sender.send([event("third", 3)]) == {}
    with reader(kind, settings) as program:
        wait_for(program, "uploads/third", "3")


def wait_for(program: Reader, *printed: str) -> None:
    """Skip what was printed before: the server may not know yet, and have delivered it again."""
    while words(program)[2:] != [*printed]:
        pass


def test_a_refused_login_is_reported(readable: Case) -> None:
    with reader(readable.layout.kind, readable.server.wrong_password_settings()) as program:
        reason = failure(program)
    assert f"cannot read from {readable.layout.kind}: " in reason
    assert "s3cret" not in reason
