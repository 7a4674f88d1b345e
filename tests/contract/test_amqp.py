"""What is particular to AMQP."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from select import select
from typing import Any

import pytest
from pika.exceptions import ChannelClosedByBroker
from pika.frame import decode_frame

from bucketcast.errors import NotAuthorized, NotConnected, Rejected, Retryable
from bucketcast.settings import options
from bucketcast.targets.amqp import Target
from bucketcast.targets.amqp import client as amqp_client
from tests.contract.diagnoses import fault
from tests.contract.made_targets import made_targets
from tests.contract.trial import HANGS_AFTER, event, events
from tests.servers.amqp import (
    LARGEST_MESSAGE,
    LIMITED_PASSWORD,
    LIMITED_USER,
    OTHER_VHOST,
    ROUTING_KEY,
    AmqpServer,
)

MADE, OTHER_QUEUE = "ev.made", "ev.other"


@pytest.fixture
def amqp(server: Callable[[str], Any]) -> Iterator[AmqpServer]:
    """The server, on which tests may make `MADE` and `OTHER_QUEUE`."""
    found: AmqpServer = server("amqp")
    remove(found)
    yield found
    remove(found)


def remove(amqp: AmqpServer) -> None:
    with amqp.channel() as channel:
        channel.exchange_delete(MADE)
        channel.queue_delete(OTHER_QUEUE)


@pytest.fixture
def make(amqp: AmqpServer) -> Iterator[Callable[..., Target]]:
    with made_targets(Target, amqp.settings) as make:
        yield make


def reasons(target: Target, kind: type[Exception], count: int = 3) -> set[str]:
    """Why events do not arrive, all of them for a reason of this kind."""
    failures = target.send(events(count))
    assert [type(each) for each in failures.values()] == [kind] * count
    return {str(each) for each in failures.values()}


def exists(amqp: AmqpServer, exchange: str) -> bool:
    with amqp.connect() as connection:
        try:
            connection.channel().exchange_declare(exchange, passive=True)
        except ChannelClosedByBroker:
            return False
    return True


# The message.


@pytest.mark.parametrize(("mode", "kept"), [("0", 2), ("1", 1), ("2", 2)])
def test_a_message_has_minios_properties_and_an_id(
    amqp: AmqpServer, make: Callable[..., Target], mode: str, kept: int
) -> None:
    one = event("photos/ü b.jpg")
    target = make(delivery_mode=mode)
    assert target.send([one]) == {}
    assert target.send([one]) == {}
    for properties, _ in amqp.messages():
        assert properties.content_type == "application/json"
        assert properties.headers == {
            "minio-bucket": "uploads",
            "minio-event": "s3:ObjectCreated:Put",
        }
        assert properties.delivery_mode == kept
        assert properties.message_id == one.id
    assert len(amqp.messages()) == 2


def test_a_cloud_event_has_its_attributes_in_headers(
    amqp: AmqpServer, make: Callable[..., Target]
) -> None:
    assert make(shape="cloudevents-binary").send([event("a")]) == {}
    ((properties, _),) = amqp.messages()
    assert properties.headers["cloudEvents_type"]
    assert properties.headers["minio-bucket"] == "uploads"


def test_the_routing_key_decides_which_queue(amqp: AmqpServer, make: Callable[..., Target]) -> None:
    with amqp.channel() as channel:
        channel.exchange_declare(MADE, "direct")
        channel.queue_declare(OTHER_QUEUE)
        channel.queue_bind(OTHER_QUEUE, MADE, "right")
    plain = {"exchange": MADE, "exchange_type": "", "durable": "off"}
    assert make(**plain, routing_key="right").send(events(2)) == {}
    assert reasons(make(**plain, routing_key="wrong"), Retryable)
    assert len(amqp.messages(OTHER_QUEUE)) == 2


def test_without_exchange_the_routing_key_names_the_queue(
    amqp: AmqpServer, make: Callable[..., Target]
) -> None:
    plain = {"exchange": "", "exchange_type": "", "durable": "off"}
    target = make(**plain, routing_key=amqp.destination)
    target.probe()
    assert target.send(events(2)) == {}
    assert len(amqp.messages()) == 2
    assert f"queue {amqp.destination}" in target.where
    (reason,) = reasons(make(**plain, routing_key="none"), Retryable)
    assert "NO_ROUTE" in reason


# The exchange.


@pytest.mark.parametrize("given", [("direct", "on", "off"), ("headers", "off", "on")])
def test_the_exchange_is_made_as_configured(
    amqp: AmqpServer, make: Callable[..., Target], given: tuple[str, str, str]
) -> None:
    kind, durable, gone = given
    target = make(exchange=MADE, exchange_type=kind, durable=durable, auto_deleted=gone)
    target.probe()
    assert not exists(amqp, MADE), "a probe leaves nothing behind"
    assert reasons(target, Retryable)
    with amqp.channel() as channel:
        channel.exchange_declare(MADE, kind, durable=durable == "on", auto_delete=gone == "on")
    target.probe()


@pytest.mark.parametrize(("gone", "stays"), [("on", False), ("off", True)])
def test_an_exchange_goes_with_its_last_queue_if_so_configured(
    amqp: AmqpServer, make: Callable[..., Target], gone: str, *, stays: bool
) -> None:
    assert make(exchange=MADE, mandatory="off", auto_deleted=gone).send(events(1)) == {}
    with amqp.channel() as channel:
        channel.queue_declare(OTHER_QUEUE)
        channel.queue_bind(OTHER_QUEUE, MADE)
        channel.queue_unbind(OTHER_QUEUE, MADE)
    assert exists(amqp, MADE) is stays


@pytest.mark.parametrize(
    "other", [{"exchange_type": "topic"}, {"durable": "off"}, {"auto_deleted": "on"}]
)
def test_an_exchange_with_other_properties_is_named_with_the_hint(
    amqp: AmqpServer, make: Callable[..., Target], other: dict[str, str]
) -> None:
    target = make(**other)
    (reason,) = reasons(target, Retryable)
    assert "inequivalent arg" in reason
    assert "leave exchange_type empty" in reason
    with pytest.raises(Retryable, match="inequivalent arg"):
        target.probe()
    assert amqp.received() == []
    assert make(exchange_type="", durable="off").send(events(1)) == {}


def test_an_exchange_that_is_not_declared_has_to_exist(
    amqp: AmqpServer, make: Callable[..., Target]
) -> None:
    target = make(exchange=MADE, exchange_type="", durable="off")
    (reason,) = reasons(target, Retryable)
    assert "make it, or set exchange_type" in reason
    with pytest.raises(Retryable, match=f"no exchange '{MADE}'"):
        target.probe()
    last = fault(target)
    assert (
        f"no exchange '{MADE}'" in last.found,
        "make it, or set exchange_type" in last.hint,
    ) == (
        True,
        True,
    )
    with amqp.channel() as channel:
        channel.exchange_declare(MADE, "fanout")
        channel.exchange_bind(amqp.destination, MADE)
    target.probe()
    assert target.send(events(2)) == {}
    assert len(amqp.messages()) == 2


def test_an_exchange_that_was_deleted_is_created_again(
    amqp: AmqpServer, make: Callable[..., Target]
) -> None:
    target = make(exchange=MADE, mandatory="off")
    assert target.send(events(1)) == {}
    with amqp.channel() as channel:
        channel.exchange_delete(MADE)
    assert target.send(events(1)) == {}
    assert exists(amqp, MADE)


def test_an_unknown_type_of_exchange_is_reported(make: Callable[..., Target]) -> None:
    (reason,) = reasons(make(exchange=MADE, exchange_type="fannout"), Retryable)
    assert "unknown exchange type 'fannout'" in reason


def test_a_name_that_is_the_brokers_own_is_reported(make: Callable[..., Target]) -> None:
    (reason,) = reasons(make(exchange="amq.none"), Retryable)
    assert "name another exchange" in reason


def test_nothing_can_be_published_to_an_internal_exchange(
    amqp: AmqpServer, make: Callable[..., Target]
) -> None:
    """Which is why the option cannot be on."""
    with amqp.channel() as channel:
        channel.exchange_declare(MADE, "fanout", internal=True)
    (reason,) = reasons(make(exchange=MADE, exchange_type="", durable="off"), Retryable)
    assert "only other exchanges may publish there" in reason


class Relay:
    """Passes on what clients and the broker say, and keeps the clients' words."""

    def __init__(self, port: int) -> None:
        self.received = b""
        self._broker = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._pass_on, daemon=True)
        self._thread.start()

    def _pass_on(self) -> None:
        """One connection, until the client hangs up."""
        client, _ = self._listener.accept()
        with client, socket.create_connection(self._broker) as broker:
            while True:
                for each in select([client, broker], [], [])[0]:
                    part = each.recv(65536)
                    if not part:
                        return
                    (broker if each is client else client).sendall(part)
                    self.received += part if each is client else b""

    def methods(self) -> list[Any]:
        """The methods that the client sent."""
        data, found = self.received, []
        while data:
            size, frame = decode_frame(data)
            data = data[size:]
            found += [frame.method] if hasattr(frame, "method") else []
        return found

    def close(self) -> None:
        self._listener.close()
        self._thread.join(HANGS_AFTER)


@contextmanager
def relay(port: int) -> Iterator[Relay]:
    passing = Relay(port)
    yield passing
    passing.close()


@pytest.mark.parametrize(("text", "nowait"), [("on", True), ("off", False)])
def test_no_wait_declares_the_exchange_without_an_answer(
    amqp: AmqpServer, make: Callable[..., Target], text: str, *, nowait: bool
) -> None:
    with relay(amqp.plain) as passing:
        url = amqp.url().replace(amqp.address, passing.address)
        target = make(url=url, no_wait=text)
        assert target.send(events(2)) == {}
        target.close()
        (declared,) = (each for each in passing.methods() if each.NAME == "Exchange.Declare")
    assert declared.nowait is nowait
    assert len(amqp.messages()) == 2


# What the broker answers.


def test_what_no_queue_takes_waits_until_one_is_bound(
    amqp: AmqpServer, make: Callable[..., Target]
) -> None:
    target = make(exchange=MADE)
    (reason,) = reasons(target, Retryable)
    assert "bind one for routing_key" in reason
    with amqp.channel() as channel:
        channel.queue_bind(amqp.destination, MADE)
    assert target.send(events(3)) == {}
    assert len(amqp.messages()) == 3


def test_what_no_queue_takes_is_let_go_if_so_configured(make: Callable[..., Target]) -> None:
    assert make(exchange=MADE, mandatory="off").send(events(3)) == {}


def test_with_ack_none_what_was_sent_counts_as_delivered(
    amqp: AmqpServer, make: Callable[..., Target]
) -> None:
    with amqp.channel() as channel:
        full = {"x-max-length": 1, "x-overflow": "reject-publish"}
        channel.queue_declare(OTHER_QUEUE, arguments=full)
        channel.exchange_declare(MADE, "fanout", durable=True)
        channel.queue_bind(OTHER_QUEUE, MADE)
    target = make(exchange=MADE, ack="none", mandatory="off")
    for _ in range(3):
        assert target.send(events(3)) == {}
    target.close()
    # The broker refused all but the first, and nobody asked.
    with amqp.channel() as channel:
        assert channel.basic_get(OTHER_QUEUE, auto_ack=True)[2] is not None
        assert channel.basic_get(OTHER_QUEUE, auto_ack=True)[2] is None
    dead = make(exchange=MADE, ack="none", url="amqp://guest:guest@127.0.0.1:1")
    with pytest.raises(NotConnected):
        dead.send(events(1))


@pytest.mark.parametrize("confirms", ["on", "off"])
def test_what_a_full_queue_refuses_is_not_delivered(
    amqp: AmqpServer, make: Callable[..., Target], confirms: str
) -> None:
    with amqp.channel() as channel:
        full = {"x-max-length": 1, "x-overflow": "reject-publish"}
        channel.queue_declare(OTHER_QUEUE, arguments=full)
        channel.basic_publish("", OTHER_QUEUE, b"it is full now")
        channel.exchange_declare(MADE, "fanout", durable=True)
        channel.queue_bind(OTHER_QUEUE, MADE)
    (reason,) = reasons(make(exchange=MADE, publisher_confirms=confirms), Retryable)
    assert "is a queue at its limit" in reason


def test_an_event_larger_than_the_brokers_limit_is_rejected_alone(
    amqp: AmqpServer, make: Callable[..., Target]
) -> None:
    target = make()
    large = event("large", principal="p" * LARGEST_MESSAGE)
    batch = [*events(3, "before"), large, *events(3, "later")]
    failures = dict(target.send(batch))
    assert type(failures.pop(3)) is Rejected
    assert {type(each) for each in failures.values()} <= {Retryable}
    assert target.send([batch[index] for index in failures]) == {}
    assert {body for _, body in amqp.messages()} == {
        target.body(each) for each in batch if each is not large
    }


def takes_messages(target: Target) -> bool:
    try:
        target.probe()
    except Retryable:
        return False
    return True


def test_a_broker_without_memory_is_waited_for_and_nothing_is_lost(
    amqp: AmqpServer, make: Callable[..., Target]
) -> None:
    target = make()
    assert target.send(events(1, "before")) == {}
    amqp.control("set_vm_memory_high_watermark", "0")
    try:
        for _ in range(2):
            (reason,) = reasons(target, Retryable)
            assert "the broker takes no messages: low on memory" in reason
        with pytest.raises(Retryable, match="low on memory"):
            target.probe()
        with amqp.channel() as channel:
            waiting = channel.queue_declare(amqp.destination, passive=True).method.message_count
        assert waiting == 1
    finally:
        amqp.control("set_vm_memory_high_watermark", "0.4")
    give_up = time.monotonic() + 10
    while not takes_messages(target) and time.monotonic() < give_up:
        time.sleep(0.1)
    # On the same connection: what was held back must not have been counted.
    assert target.send(events(3)) == {}
    ids = {properties.message_id for properties, _ in amqp.messages()}
    assert ids == {each.id for each in [*events(1, "before"), *events(3)]}


# Rights and logins.


def test_a_user_who_may_only_publish_is_enough(
    amqp: AmqpServer, make: Callable[..., Target]
) -> None:
    target = make(amqp.limited_settings())
    target.probe()
    assert target.send(events(3)) == {}


@pytest.mark.parametrize(
    "more", [{"exchange": "amq.fanout"}, {"exchange_type": "fanout", "durable": "on"}]
)
def test_missing_rights_are_named(
    amqp: AmqpServer, make: Callable[..., Target], more: dict[str, str]
) -> None:
    (reason,) = reasons(make(amqp.limited_settings(**more)), NotAuthorized)
    assert "the user needs to write to the exchange" in reason


def test_a_virtual_host_is_named_in_the_url(amqp: AmqpServer, make: Callable[..., Target]) -> None:
    vhost = OTHER_VHOST.replace("/", "%2F")
    target = make(url=amqp.url(vhost=vhost), exchange=MADE, mandatory="off")
    assert target.send(events(1)) == {}
    assert not exists(amqp, MADE)
    with amqp.channel(OTHER_VHOST) as channel:
        channel.exchange_declare(MADE, passive=True)
        channel.exchange_delete(MADE)
    with pytest.raises(NotConnected, match="make the virtual host"):
        make(url=amqp.url(vhost="none")).probe()
    with pytest.raises(NotAuthorized, match="let the user into it"):
        make(url=amqp.url(LIMITED_USER, LIMITED_PASSWORD, vhost)).probe()


def test_the_client_certificate_can_be_the_login(
    amqp: AmqpServer, make: Callable[..., Target]
) -> None:
    url = f"amqps://localhost:{amqp.tls_port}/?auth_mechanism=external"
    target = make(amqp.mtls_settings(url=url))
    target.probe()
    assert target.send(events(2)) == {}
    plain = options.read(Target.Settings, amqp.tls_settings(url=url))
    assert [key for key, *_ in Target.check(plain)] == ["client_cert"]


def test_any_certificate_is_accepted_if_so_configured(
    amqp: AmqpServer, make: Callable[..., Target]
) -> None:
    other = amqp.tls.other_ca.read_text()
    with pytest.raises(NotConnected, match="set cert_authority"):
        make(amqp.tls_settings(cert_authority=other)).probe()
    make(amqp.tls_settings(cert_authority=other, tls_skip_verify="on")).probe()


@pytest.mark.parametrize("scheme", ["amqp", "amqps"])
def test_a_port_of_the_other_scheme_is_reported(
    amqp: AmqpServer, make: Callable[..., Target], scheme: str
) -> None:
    port = amqp.tls_port if scheme == "amqp" else amqp.plain
    with pytest.raises(NotConnected, match="does the port in url suit its scheme"):
        make(url=f"{scheme}://alice@127.0.0.1:{port}").probe()


# The connection.


def test_a_connection_is_kept(amqp: AmqpServer, make: Callable[..., Target]) -> None:
    target = make()
    assert target.send(events(1)) == {}
    first = target._open
    assert target.send(events(1)) == {}
    assert target._open is first
    assert len(amqp.messages()) == 2


def test_a_connection_that_the_broker_closed_costs_no_try(
    amqp: AmqpServer, make: Callable[..., Target]
) -> None:
    target = make()
    assert target.send(events(1, "before")) == {}
    amqp.control("close_all_connections", "for a test")
    assert target.send(events(3)) == {}
    assert len(amqp.messages()) == 4


def test_a_function_that_was_frozen_costs_no_try(
    amqp: AmqpServer, make: Callable[..., Target], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(amqp_client, "HEARTBEAT", 1)
    target = make()
    assert target.send(events(1, "before")) == {}
    assert target._open is not None
    line = target._open._socket._socket
    end = time.monotonic() + HANGS_AFTER
    while time.monotonic() < end:  # until the broker, which hears no heartbeat, hangs up
        select([line], [], [], 1.0)
        try:
            if not line.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT):
                break
            target._open._frame()
        except BlockingIOError:
            continue
        except OSError:
            break
    assert target.send(events(3)) == {}
    assert len(amqp.messages()) == 4


def test_a_connection_that_was_quiet_for_long_is_not_trusted(
    make: Callable[..., Target], monkeypatch: pytest.MonkeyPatch
) -> None:
    target = make()
    assert target.send(events(1)) == {}
    first = target._open
    later = time.time() + amqp_client.HEARTBEAT + 1
    monkeypatch.setattr(time, "time", lambda: later)
    assert target.send(events(1)) == {}
    assert target._open is not first


def test_a_broker_that_says_something_else_is_reported(make: Callable[..., Target]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            client, _ = listener.accept()
            with client:
                client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 9)
                client.recv(100)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        with pytest.raises(NotConnected, match="does the port in url suit its scheme"):
            make(url=f"amqp://127.0.0.1:{listener.getsockname()[1]}").probe()
        thread.join(HANGS_AFTER)


# What cannot be configured.


CERTIFICATE = "-----BEGIN CERTIFICATE-----"


@pytest.mark.parametrize(
    ("texts", "key"),
    [
        ({"url": "http://h"}, "url"),
        ({"url": "amqp://h/?heartbeat=10"}, "url"),
        ({"exchange": "", "exchange_type": "", "routing_key": ""}, "exchange"),
        ({"exchange": ""}, "exchange_type"),
        ({"exchange": "é" * 128}, "exchange"),
        ({"routing_key": "k" * 256}, "routing_key"),
        ({"exchange_type": "", "durable": "on"}, "durable"),
        ({"exchange_type": "", "no_wait": "on"}, "no_wait"),
        ({"exchange_type": "", "auto_deleted": "on"}, "auto_deleted"),
        ({"internal": "on"}, "internal"),
        ({"immediate": "on"}, "immediate"),
        ({"delivery_mode": "3"}, "delivery_mode"),
        ({"cert_authority": CERTIFICATE}, "cert_authority"),
        ({"tls_skip_verify": "on"}, "tls_skip_verify"),
        ({"url": "amqps://h", "client_cert": CERTIFICATE}, "client_key"),
        ({"url": "amqps://h/?auth_mechanism=external"}, "client_cert"),
        ({}, None),
        ({"exchange": "e" * 255, "routing_key": "k" * 255}, None),
        ({"exchange": "", "exchange_type": "", "routing_key": "q"}, None),
        ({"exchange_type": "x-consistent-hash", "delivery_mode": "2"}, None),
        ({"url": "secret:u", "cert_authority": CERTIFICATE, "delivery_mode": "secret:d"}, None),
        ({"internal": "secret:i", "immediate": "secret:m"}, None),
    ],
)
def test_check(texts: dict[str, str], key: str | None) -> None:
    usual = {"url": "amqp://h", "exchange": "e", "exchange_type": "fanout", "routing_key": "k"}
    given = options.read(Target.Settings, {**usual, **texts})
    assert [found for found, *_ in Target.check(given)] == ([key] if key else [])


def test_confirms_are_awaited_although_off_with_a_note() -> None:
    given = options.read(Target.Settings, {"url": "amqp://h", "publisher_confirms": "off"})
    assert [note for note in Target.notes(given) if "always awaited" in note]
    assert Target.notes(options.read(Target.Settings, {"url": "amqp://h"})) == []


def test_a_secret_that_is_no_url_is_reported_without_its_value(make: Callable[..., Target]) -> None:
    target = Target(options.read(Target.Settings, {"url": "http://u:s3cret@h"}))
    with pytest.raises(NotAuthorized, match="amqp:// or amqps:// URL") as refused:
        target.send(events(1))
    assert "s3cret" not in f"{refused.value}{target.where}"
    assert ROUTING_KEY not in make().where
