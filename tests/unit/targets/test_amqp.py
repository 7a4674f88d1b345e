"""The AMQP target's URLs, and the broker's confirms."""

import socket
from types import SimpleNamespace
from typing import Any

import pytest
from pika import spec

from bucketcast.settings.options import read
from bucketcast.targets.amqp import Target, protocol
from bucketcast.targets.amqp.address import parse
from bucketcast.targets.amqp.batch import Confirms
from bucketcast.targets.amqp.client import ClosedError
from bucketcast.targets.base import sockets
from bucketcast.targets.base.answers import TooLargeError
from tests.unit.samples import event


@pytest.mark.parametrize(
    ("url", "where", "login"),
    [
        ("amqp://h", "h:5672", ("PLAIN", "\0guest\0guest")),
        ("amqps://h", "h:5671", ("PLAIN", "\0guest\0guest")),
        ("amqp://u:p@h:1/", "h:1", ("PLAIN", "\0u\0p")),
        ("amqp://u@h/v", "h:5672 virtual host v", ("PLAIN", "\0u\0")),
        ("amqp://u%40x:p%2F%3A+@h/%2Fv%2Fw/x", "h:5672 virtual host /v/w/x", None),
        ("amqp://u%40x:p%2F%3A+@h/", "h:5672", ("PLAIN", "\0u@x\0p/:+")),
        ("amqp://u:p@h/%2F", "h:5672", ("PLAIN", "\0u\0p")),
        ("amqp://u:p@[::1]:7", "[::1]:7", ("PLAIN", "\0u\0p")),
        ("amqps://h/?auth_mechanism=EXTERNAL", "h:5671", ("EXTERNAL", "")),
        ("amqp://u:p@h?auth_mechanism=plain", "h:5672", ("PLAIN", "\0u\0p")),
    ],
)
def test_url_has_address_and_login(url: str, where: str, login: tuple[str, str] | None) -> None:
    address = parse(url)
    assert str(address) == where
    assert address.sasl_login == (login or address.sasl_login)
    assert "p/:+" not in repr(address)


def pending(count: int, first: int = 11) -> Confirms:
    """Sent messages with ids m0, m1 …, and tags from `first` on."""
    confirms = Confirms("broker", count)
    for index in range(count):
        confirms.add(first + index, index, f"m{index}")
    return confirms


def test_multiple_confirms_the_messages_before_too() -> None:
    confirms = pending(6)
    confirms.settle_tag(13, confirmed=True, multiple=False)
    confirms.settle_tag(12, confirmed=True, multiple=True)
    assert (confirms.unconfirmed, len(confirms)) == ({3, 4, 5}, 3)
    confirms.settle_tag(14, confirmed=False, multiple=True)
    confirms.settle_tag(16, confirmed=True, multiple=True)
    assert (confirms.unconfirmed, set(confirms.failures), len(confirms)) == (set(), {3}, 0)


def test_returned_message_fails_although_it_is_confirmed() -> None:
    confirms = pending(3)
    confirms.add(14, 3, "m1")  # the same event twice in a batch
    confirms.fail_returned("m1", 312, "NO_ROUTE (312)")
    confirms.settle_tag(14, confirmed=True, multiple=True)
    assert (confirms.unconfirmed, set(confirms.failures), len(confirms)) == (set(), {1, 3}, 0)
    assert str(confirms.failures[1]).startswith("broker: NO_ROUTE (312); no queue matches")


def test_late_confirms_of_an_earlier_batch_are_ignored() -> None:
    confirms = pending(2)
    confirms.settle_tag(10, confirmed=True, multiple=True)
    confirms.settle_tag(9, confirmed=False, multiple=False)
    confirms.fail_returned("unknown", 312, "NO_ROUTE (312)")
    assert (confirms.unconfirmed, confirms.failures, len(confirms)) == ({0, 1}, {}, 2)


def test_content_that_is_too_large_is_halved_until_it_is_alone() -> None:
    target: Any = Target(read(Target.Settings, {"url": "amqp://h", "exchange": "e"}))
    target._open = "a connection"
    method = SimpleNamespace(NAME="Channel.Close", reply_code=311, reply_text="CONTENT_TOO_LARGE")
    for number in (2, 1):
        with pytest.raises(TooLargeError):
            target._fail([event("a")] * number, pending(number), ClosedError(method))


def test_what_arrived_before_a_write_fails_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, brokers = socket.socketpair()
    monkeypatch.setattr(sockets, "connect", lambda *_: sockets.DeadlineSocket(ours))
    target, confirms = Target(read(Target.Settings, {"url": "amqp://h"})), Confirms("broker", 40)
    connection = spec.Connection.Start(), spec.Connection.Tune(), spec.Connection.OpenOk()
    end = spec.Basic.Ack(5, multiple=True), spec.Connection.Close(320, "upkeep", 0, 0)
    with ours, brokers:
        for method in (*connection, spec.Confirm.SelectOk(), *end):
            brokers.sendall(protocol.encode_method(method, 0))
        client = target._connect()
        brokers.close()
        with pytest.raises(ClosedError, match=r"upkeep \(320\)"):
            client.publish(target._messages([event("a")] * 40), confirms, 60)
    assert confirms.unconfirmed == set(range(5, 40))
