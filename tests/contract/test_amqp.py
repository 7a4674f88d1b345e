"""AMQP alone: exchanges, queues, publisher confirms and its own errors."""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest
from pika.exceptions import ChannelClosedByBroker
from pika.frame import decode_frame

from bucketcast.errors import ConfigErrors, NotAuthorized, NotConnected, Retryable, Throttled
from bucketcast.targets.amqp import Target
from bucketcast.targets.base.answers import TooLargeError
from bucketcast.targets.base.sockets import DeadlineSocket
from tests.contract.case import event, events
from tests.contract.diagnoses import fault
from tests.contract.target_factory import making
from tests.servers.amqp import (
    LARGEST_MESSAGE,
    LIMITED_PASSWORD,
    LIMITED_USER,
    OTHER_VHOST,
    AmqpServer,
)
from tests.waiting import last_seen

OTHER_EXCHANGE, OTHER_QUEUE = "ev.exchange", "ev.queue"
Make = Callable[..., Target]
make = making(Target, "amqp")


@pytest.fixture
def amqp(server: Callable[[str], Any]) -> Iterator[AmqpServer]:
    """The server, on which tests may create `OTHER_EXCHANGE` and `OTHER_QUEUE`."""
    broker: AmqpServer = server("amqp")
    remove(broker)
    yield broker
    remove(broker)


def remove(amqp: AmqpServer) -> None:
    with amqp.channel() as channel:
        channel.exchange_delete(OTHER_EXCHANGE)
        channel.queue_delete(OTHER_QUEUE)


def reasons(target: Target, kind: type[Exception], count: int = 3) -> set[str]:
    """Send events which all fail with an error of this kind; return the errors' texts."""
    failures = target.send(events(count))
    assert [type(error) for error in failures.values()] == [kind] * count
    return {str(error) for error in failures.values()}


def exists(amqp: AmqpServer, exchange: str) -> bool:
    with amqp.connect() as connection:
        try:
            connection.channel().exchange_declare(exchange, passive=True)
        except ChannelClosedByBroker:
            return False
    return True


# The message.


@pytest.mark.parametrize(("option", "delivery_mode"), [("0", 2), ("1", 1), ("2", 2)])
def test_message_has_minios_properties_and_an_id(
    amqp: AmqpServer, make: Make, option: str, delivery_mode: int
) -> None:
    photo = event("photos/ü b.jpg")
    target = make(delivery_mode=option)
    assert target.send([photo]) == {}
    assert target.send([photo]) == {}
    for properties, _ in amqp.messages():
        assert properties.content_type == "application/json"
        assert properties.headers == {
            "minio-bucket": "uploads",
            "minio-event": "s3:ObjectCreated:Put",
        }
        assert properties.delivery_mode == delivery_mode
        assert properties.message_id == photo.id
    assert len(amqp.messages()) == 2


def test_routing_key_selects_the_queue(amqp: AmqpServer, make: Make) -> None:
    with amqp.channel() as channel:
        channel.exchange_declare(OTHER_EXCHANGE, "direct")
        channel.queue_declare(OTHER_QUEUE)
        channel.queue_bind(OTHER_QUEUE, OTHER_EXCHANGE, "right")
    plain = {"exchange": OTHER_EXCHANGE, "exchange_type": "", "durable": "off"}
    assert make(**plain, routing_key="right").send(events(2)) == {}
    assert reasons(make(**plain, routing_key="wrong"), Retryable)
    assert len(amqp.messages(OTHER_QUEUE)) == 2


def test_routing_key_names_the_queue_without_exchange(amqp: AmqpServer, make: Make) -> None:
    plain = {"exchange": "", "exchange_type": "", "durable": "off"}
    target = make(**plain, routing_key=amqp.destination)
    target.probe()
    assert target.send(events(2)) == {}
    assert len(amqp.messages()) == 2
    assert f"queue {amqp.destination}" in target.where
    (reason,) = reasons(make(**plain, routing_key="none"), Retryable)
    assert "NO_ROUTE" in reason


# The exchange.


@pytest.mark.parametrize(
    ("exchange_type", "durable", "auto_delete"),
    [("direct", True, False), ("headers", False, True)],
)
def test_exchange_is_declared_as_configured(
    amqp: AmqpServer,
    make: Make,
    exchange_type: str,
    *,
    durable: bool,
    auto_delete: bool,
) -> None:
    target = make(
        exchange=OTHER_EXCHANGE,
        exchange_type=exchange_type,
        durable="on" if durable else "off",
        auto_deleted="on" if auto_delete else "off",
    )
    target.probe()
    assert not exists(amqp, OTHER_EXCHANGE), "a probe creates nothing"
    assert reasons(target, Retryable)
    with amqp.channel() as channel:
        channel.exchange_declare(
            OTHER_EXCHANGE, exchange_type, durable=durable, auto_delete=auto_delete
        )
    target.probe()


@pytest.mark.parametrize(
    "other", [{"exchange_type": "topic"}, {"durable": "off"}, {"auto_deleted": "on"}]
)
def test_exchange_with_other_properties_fails_with_a_hint(
    amqp: AmqpServer, make: Make, other: dict[str, str]
) -> None:
    target = make(**other)
    (reason,) = reasons(target, Retryable)
    assert "inequivalent arg" in reason
    assert "leave exchange_type empty" in reason
    with pytest.raises(Retryable, match="inequivalent arg"):
        target.probe()
    assert amqp.received() == []
    assert make(exchange_type="", durable="off").send(events(1)) == {}


def test_missing_exchange_fails_until_it_is_created(amqp: AmqpServer, make: Make) -> None:
    target = make(exchange=OTHER_EXCHANGE, exchange_type="", durable="off")
    (reason,) = reasons(target, Retryable)
    assert "make it, or set exchange_type" in reason
    with pytest.raises(Retryable, match=f"no exchange '{OTHER_EXCHANGE}'"):
        target.probe()
    finding = fault(target)
    assert f"no exchange '{OTHER_EXCHANGE}'" in finding.found
    assert "make it, or set exchange_type" in finding.hint
    with amqp.channel() as channel:
        channel.exchange_declare(OTHER_EXCHANGE, "fanout")
        channel.exchange_bind(amqp.destination, OTHER_EXCHANGE)
    target.probe()
    assert target.send(events(2)) == {}
    assert len(amqp.messages()) == 2


def test_deleted_exchange_is_declared_again(amqp: AmqpServer, make: Make) -> None:
    target = make(exchange=OTHER_EXCHANGE, mandatory="off")
    assert target.send(events(1)) == {}
    with amqp.channel() as channel:
        channel.exchange_delete(OTHER_EXCHANGE)
    assert target.send(events(1)) == {}
    assert exists(amqp, OTHER_EXCHANGE)


def test_unknown_exchange_type_is_reported(make: Make) -> None:
    (reason,) = reasons(make(exchange=OTHER_EXCHANGE, exchange_type="fannout"), Retryable)
    assert "unknown exchange type 'fannout'" in reason


def test_reserved_exchange_name_is_reported(make: Make) -> None:
    (reason,) = reasons(make(exchange="amq.none"), Retryable)
    assert "name another exchange" in reason


@pytest.mark.parametrize(("option", "nowait"), [("on", True), ("off", False)])
def test_no_wait_declares_the_exchange_without_an_answer(
    amqp: AmqpServer,
    make: Make,
    monkeypatch: pytest.MonkeyPatch,
    option: str,
    *,
    nowait: bool,
) -> None:
    sent, send = bytearray(), DeadlineSocket.send

    def record(socket: DeadlineSocket, data: bytes, deadline: float) -> None:
        sent.extend(data)
        send(socket, data, deadline)

    monkeypatch.setattr(DeadlineSocket, "send", record)
    assert make(no_wait=option).send(events(2)) == {}
    (declare,) = (method for method in methods(sent) if method.NAME == "Exchange.Declare")
    assert declare.nowait is nowait
    assert len(amqp.messages()) == 2


def methods(data: bytearray) -> Iterator[Any]:
    """Yield the methods that a client sent."""
    while data:
        size, frame = decode_frame(bytes(data))
        data = data[size:]
        if hasattr(frame, "method"):
            yield frame.method


# The broker's answers.


def test_unroutable_event_waits_until_a_queue_is_bound(amqp: AmqpServer, make: Make) -> None:
    target = make(exchange=OTHER_EXCHANGE)
    (reason,) = reasons(target, Retryable)
    assert "bind one for routing_key" in reason
    with amqp.channel() as channel:
        channel.queue_bind(amqp.destination, OTHER_EXCHANGE)
    assert target.send(events(3)) == {}
    assert len(amqp.messages()) == 3


def test_ack_none_counts_sent_events_as_delivered(amqp: AmqpServer, make: Make) -> None:
    with amqp.channel() as channel:
        full = {"x-max-length": 1, "x-overflow": "reject-publish"}
        channel.queue_declare(OTHER_QUEUE, arguments=full)
        channel.exchange_declare(OTHER_EXCHANGE, "fanout", durable=True)
        channel.queue_bind(OTHER_QUEUE, OTHER_EXCHANGE)
    target = make(exchange=OTHER_EXCHANGE, ack="none", mandatory="off")
    for _ in range(3):
        assert target.send(events(3)) == {}
    target.close()
    # The broker refused all but the first, which the target ignores.
    with amqp.channel() as channel:
        assert channel.basic_get(OTHER_QUEUE, auto_ack=True)[2] is not None
        assert channel.basic_get(OTHER_QUEUE, auto_ack=True)[2] is None
    dead = make(exchange=OTHER_EXCHANGE, ack="none", url="amqp://guest:guest@127.0.0.1:1")
    with pytest.raises(NotConnected):
        dead.send(events(1))


@pytest.mark.parametrize("confirms", ["on", "off"])
def test_event_that_a_full_queue_refuses_fails(amqp: AmqpServer, make: Make, confirms: str) -> None:
    with amqp.channel() as channel:
        full = {"x-max-length": 1, "x-overflow": "reject-publish"}
        channel.queue_declare(OTHER_QUEUE, arguments=full)
        channel.basic_publish("", OTHER_QUEUE, b"it is full now")
        channel.exchange_declare(OTHER_EXCHANGE, "fanout", durable=True)
        channel.queue_bind(OTHER_QUEUE, OTHER_EXCHANGE)
    (reason,) = reasons(make(exchange=OTHER_EXCHANGE, publisher_confirms=confirms), Retryable)
    assert "is a queue at its limit" in reason


def test_event_larger_than_the_limit_is_rejected_alone(amqp: AmqpServer, make: Make) -> None:
    target = make()
    large = event("large", principal="p" * LARGEST_MESSAGE)
    batch = [*events(3, "before"), large, *events(3, "later")]
    failures = dict(target.send(batch))
    assert type(failures.pop(3)) is TooLargeError
    assert {type(error) for error in failures.values()} <= {Retryable}
    assert target.send([batch[index] for index in failures]) == {}
    assert {body for _, body in amqp.messages()} == {
        target.body(small) for small in batch if small is not large
    }


def accepts_messages(target: Target) -> bool:
    try:
        target.probe()
    except Retryable:
        return False
    return True


def test_no_event_is_lost_while_the_broker_lacks_memory(amqp: AmqpServer, make: Make) -> None:
    target = make()
    assert target.send(events(1, "before")) == {}
    amqp.control("set_vm_memory_high_watermark", "0")
    try:
        for _ in range(2):
            (reason,) = reasons(target, Retryable)
            assert "the broker accepts no messages: low on memory" in reason
        with pytest.raises(Retryable, match="low on memory"):
            target.probe()
        with amqp.channel() as channel:
            waiting = channel.queue_declare(amqp.destination, passive=True).method.message_count
        assert waiting == 1
    finally:
        amqp.control("set_vm_memory_high_watermark", "0.4")
    last_seen(lambda: accepts_messages(target))
    # On the same connection: parts that were never sent must not count as delivery tags.
    assert target.send(events(3)) == {}
    ids = {properties.message_id for properties, _ in amqp.messages()}
    assert ids == {delivered.id for delivered in [*events(1, "before"), *events(3)]}


# Rights and logins.


def test_user_needs_only_the_right_to_publish(amqp: AmqpServer, make: Make) -> None:
    target = make(amqp.limited_settings())
    target.probe()
    assert target.send(events(3)) == {}


@pytest.mark.parametrize(
    "overrides", [{"exchange": "amq.fanout"}, {"exchange_type": "fanout", "durable": "on"}]
)
def test_missing_rights_are_named(amqp: AmqpServer, make: Make, overrides: dict[str, str]) -> None:
    (reason,) = reasons(make(amqp.limited_settings(**overrides)), NotAuthorized)
    assert "the user needs to write to the exchange" in reason


@pytest.mark.parametrize(
    ("limit", "clear"),
    [
        (("set_vhost_limits", "-p", OTHER_VHOST), ("clear_vhost_limits", "-p", OTHER_VHOST)),
        (("set_user_limits", LIMITED_USER), ("clear_user_limits", LIMITED_USER, "all")),
    ],
)
def test_a_limit_of_connections_is_no_missing_right(
    amqp: AmqpServer,
    make: Make,
    limit: tuple[str, ...],
    clear: tuple[str, ...],
) -> None:
    vhost = OTHER_VHOST.replace("/", "%2F")
    amqp.control(*limit, '{"max-connections": 0}')
    try:
        with pytest.raises(Throttled, match=r"limit .* is reached.*; raise the limit"):
            make(url=amqp.url(LIMITED_USER, LIMITED_PASSWORD, vhost)).send(events(1))
    finally:
        amqp.control(*clear)


def test_url_names_the_virtual_host(amqp: AmqpServer, make: Make) -> None:
    vhost = OTHER_VHOST.replace("/", "%2F")
    target = make(url=amqp.url(vhost=vhost), exchange=OTHER_EXCHANGE, mandatory="off")
    assert target.send(events(1)) == {}
    assert not exists(amqp, OTHER_EXCHANGE)
    with amqp.channel(OTHER_VHOST) as channel:
        channel.exchange_declare(OTHER_EXCHANGE, passive=True)
        channel.exchange_delete(OTHER_EXCHANGE)
    with pytest.raises(NotConnected, match="make the virtual host"):
        make(url=amqp.url(vhost="none")).probe()
    with pytest.raises(NotAuthorized, match="let the user into it"):
        make(url=amqp.url(LIMITED_USER, LIMITED_PASSWORD, vhost)).probe()


def test_a_password_is_percent_encoded_in_the_url_or_refused_unseen(
    amqp: AmqpServer, make: Make
) -> None:
    amqp.control("change_password", LIMITED_USER, password := "12/b#s3cret@x")
    try:
        with pytest.raises(ConfigErrors, match="password are percent-encoded") as refused:
            make(amqp.limited_settings(url=amqp.url(LIMITED_USER, password)))
        assert "s3cret" not in str(refused.value)
        target = make(amqp.limited_settings(url=amqp.url(LIMITED_USER, quote(password, safe=""))))
        assert target.send(events(1)) == {}
        assert "s3cret" not in f"{target.where} {target.settings!r}"
    finally:
        amqp.control("change_password", LIMITED_USER, LIMITED_PASSWORD)


def test_client_certificate_can_be_the_login(amqp: AmqpServer, make: Make) -> None:
    url = f"amqps://localhost:{amqp.tls_port}/?auth_mechanism=external"
    target = make(amqp.mtls_settings(url=url))
    target.probe()
    assert target.send(events(2)) == {}


@pytest.mark.parametrize("scheme", ["amqp", "amqps"])
def test_port_of_the_other_scheme_is_reported(amqp: AmqpServer, make: Make, scheme: str) -> None:
    port = amqp.tls_port if scheme == "amqp" else amqp.port
    with pytest.raises(NotConnected, match="does the port in url suit its scheme"):
        make(url=f"{scheme}://alice@127.0.0.1:{port}").probe()
