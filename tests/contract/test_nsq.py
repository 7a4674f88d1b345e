"""What is particular to NSQ."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import pytest

from bucketcast.errors import NotAuthorized, NotConnected, Rejected, Retryable
from bucketcast.event import Event
from bucketcast.settings.options import read
from bucketcast.shapes import minio
from bucketcast.targets.nsq import Target
from bucketcast.targets.nsq.client import UNCONFIRMED
from tests.contract.made_targets import made_targets
from tests.contract.reader import failure, reader
from tests.contract.trial import HANGS_AFTER, event, events, path_of
from tests.servers import Arrival, Server
from tests.servers.machine import ports
from tests.servers.nsq import LIMITED_SECRET, NsqServer

PEM = "-----BEGIN CERTIFICATE-----"


@pytest.fixture
def nsqd(server: Callable[[str], Server], monkeypatch: pytest.MonkeyPatch) -> NsqServer:
    monkeypatch.setattr(Target, "timeout", 10.0)
    found = server("nsq")
    assert isinstance(found, NsqServer)
    return found


@pytest.fixture
def make(nsqd: NsqServer) -> Iterator[Callable[..., Target]]:
    with made_targets(Target, nsqd.settings, checked=False) as make:
        yield make


def paths(arrivals: list[Arrival]) -> list[str]:
    return [path_of(each) for each in arrivals]


def sized(index: int, length: int) -> Event:
    """An event whose message has that many bytes."""
    less = len(minio.log(event(f"{index}", index)))
    return event(f"{index}", index, request_id="r" * (length - less))


@pytest.mark.parametrize("topic", ["other", "a.b_c-D9", "n" * 64])
def test_events_go_to_the_topic(nsqd: NsqServer, make: Callable[..., Target], topic: str) -> None:
    assert nsqd.received(topic) == []
    assert make(topic=topic).send(events(3)) == {}
    assert paths(nsqd.received(topic)) == [minio.path(each) for each in events(3)]
    assert nsqd.received() == []


def test_an_ephemeral_topic_is_one(nsqd: NsqServer, make: Callable[..., Target]) -> None:
    nsqd.configure(mem_queue_size=None)  # without memory it keeps nothing at all
    assert make(topic="brief#ephemeral").send(events(3)) == {}
    assert len(nsqd.received("brief#ephemeral")) == 3


def test_each_channel_gets_every_event(nsqd: NsqServer, make: Callable[..., Target]) -> None:
    for channel in ("first", "second"):
        nsqd.ask(f"/topic/create?topic={nsqd.destination}", "POST")
        nsqd.ask(f"/channel/create?topic={nsqd.destination}&channel={channel}", "POST")
    assert make().send(events(2)) == {}
    for channel in ("first", "second"):
        with nsqd.client() as client:
            messages = client.messages(nsqd.destination, channel)
            assert [next(messages).body for _ in range(2)] == [minio.log(e) for e in events(2)]


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        ({"topic": "a/b"}, ["topic"]),
        ({"topic": "ü"}, ["topic"]),
        ({"topic": "n" * 65}, ["topic"]),
        ({"topic": "#ephemeral"}, ["topic"]),
        ({"topic": "a#ephemeral#ephemeral"}, ["topic"]),
        ({"topic": "a\n"}, ["topic"]),
        ({"cert_authority": PEM}, ["cert_authority"]),
        ({"cert_authority": PEM, "tls": "on"}, []),
        ({"cert_authority": PEM, "tls_enable": "on"}, []),
        ({"client_cert": PEM, "tls": "on"}, ["client_key"]),
        ({"tls_skip_verify": "on"}, []),
        ({"topic": "secret:topic", "auth_secret": "secret:it"}, []),
    ],
)
def test_what_cannot_be_is_refused(texts: dict[str, str], names: list[str]) -> None:
    settings = read(Target.Settings, {"nsqd_address": "h", "topic": "t", **texts})
    assert [key for key, *_ in Target.check(settings)] == names


def test_a_refused_topic_is_named_with_what_is_allowed(make: Callable[..., Target]) -> None:
    target = make(topic="a/b")
    ((key, found, allowed),) = Target.check(target.settings)
    assert (key, found) == ("topic", "found 'a/b'")
    assert "1 to 64 of a-z, A-Z, 0-9" in allowed
    # As a secret may hold one that no check saw.
    assert isinstance(target.send(events(2))[1], Retryable)
    assert "set topic to a name" in str(target.send(events(1))[0])


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({"topic": "t#ephemeral"}, "nsqd never writes it to disk"),
        ({"tls_skip_verify": "on"}, "does nothing while tls is off"),
        ({"queue_dir": "/home/events"}, "the target's SQS queue stores waiting events"),
    ],
)
def test_settings_that_lose_events_or_do_nothing_are_noted(
    texts: dict[str, str], expected: str
) -> None:
    plain = {"nsqd_address": "h", "topic": "t"}
    (note,) = Target.notes(read(Target.Settings, {**plain, **texts}))
    assert expected in note
    assert Target.notes(read(Target.Settings, plain)) == []


@pytest.mark.parametrize(
    ("address", "where"),
    [("h", "h:4150"), ("h:1", "h:1"), ("[::1]:7", "::1:7"), ("[::1]", "::1:4150")],
)
def test_where_has_nsqds_own_port(address: str, where: str) -> None:
    texts = {"nsqd_address": address, "topic": "t", "auth_secret": "hunter2"}
    assert Target(read(Target.Settings, texts)).where == f"{where}, topic t"


@pytest.mark.parametrize("key", ["tls", "tls_enable"])
def test_either_name_of_tls_encrypts(
    nsqd: NsqServer, make: Callable[..., Target], key: str
) -> None:
    texts = {**nsqd.tls_settings(), "tls": "off", key: "on"}
    nsqd.configure(tls_required="tcp-https")
    assert make(texts).send(events(1)) == {}
    nsqd.configure()
    assert paths(nsqd.received()) == ["uploads/photo-00001"]


def test_any_certificate_is_accepted_if_so_configured(
    nsqd: NsqServer, make: Callable[..., Target]
) -> None:
    other = nsqd.tls_settings(cert_authority=nsqd.tls.other_ca.read_text())
    with pytest.raises(NotConnected, match="set cert_authority to the authority"):
        make(other).probe()
    assert make(other, tls_skip_verify="on").send(events(1)) == {}
    assert len(nsqd.received()) == 1


def test_an_nsqd_that_wants_tls_names_the_option(
    nsqd: NsqServer, make: Callable[..., Target]
) -> None:
    target = make()
    nsqd.configure(tls_required="tcp-https")
    error = target.send(events(1))[0]
    assert isinstance(error, NotConnected)
    assert "set tls = on" in str(error)


def test_an_nsqd_without_tls_gets_nothing(nsqd: NsqServer, make: Callable[..., Target]) -> None:
    target = make(nsqd.tls_settings())
    nsqd.configure(tls_cert=None, tls_key=None)
    error = target.send(events(1))[0]
    assert isinstance(error, NotConnected)
    assert "start it with --tls-cert" in str(error)
    assert nsqd.received() == []


def test_invalid_pem_is_reported(nsqd: NsqServer, make: Callable[..., Target]) -> None:
    target = make(nsqd.tls_settings(cert_authority=PEM))
    with pytest.raises(NotConnected, match="cert_authority, client_cert or client_key") as refused:
        target.probe()
    assert str(target.send(events(1))[0]) == str(refused.value)


def test_a_secret_without_the_permission_is_reported(
    nsqd: NsqServer, make: Callable[..., Target]
) -> None:
    assert make(auth_secret=LIMITED_SECRET).send(events(1)) == {}
    target = make(auth_secret=LIMITED_SECRET, topic="other")
    target.probe()
    # So many that nsqd refuses them before it has read them all.
    for batch in (events(1), events(1000)):
        failures = target.send(batch)
        assert failures.keys() == set(range(len(batch)))
        assert {type(each) for each in failures.values()} == {NotAuthorized}
        assert "the permission publish for the topic" in str(failures[0])
    assert nsqd.received("other") == []


def test_a_secret_that_is_not_requested_is_not_sent(
    nsqd: NsqServer, make: Callable[..., Target]
) -> None:
    """As an error is how nsqd takes it, and the network has no business to see it."""
    with Impostor(b'{"auth_required":false,"tls_v1":false}', b"OK") as impostor:
        target = make(nsqd_address=impostor.address, auth_secret="kept-s3cret")
        assert target.send(events(1)) == {}
        target.close()
        assert b"s3cret" not in impostor.heard
        assert b"MPUB ev.events\n" in impostor.heard
    assert nsqd.received() == []


def test_what_is_too_large_is_rejected_alone_and_the_rest_arrives_once_in_order(
    nsqd: NsqServer, make: Callable[..., Target]
) -> None:
    target = make()
    nsqd.configure(max_msg_size=2_000)
    lengths = [900, 2_000, 2_001, 900, 40_000, *[900] * 300, 3_000, 1_999]
    batch = [sized(index, length) for index, length in enumerate(lengths)]
    assert [len(minio.log(each)) for each in batch] == lengths
    failures = target.send(batch)
    assert {index: type(each) for index, each in failures.items()} == dict.fromkeys(
        (2, 4, 305), Rejected
    )
    assert "takes 2001 bytes; nsqd takes 2000: see its --max-msg-size" in str(failures[2])
    wanted = [minio.path(each) for index, each in enumerate(batch) if index not in failures]
    assert paths(nsqd.received()) == wanted


def test_a_size_that_was_raised_counts_from_then_on(
    nsqd: NsqServer, make: Callable[..., Target]
) -> None:
    target = make()
    nsqd.configure(max_msg_size=2_000)
    assert isinstance(target.send([sized(1, 3_000)])[0], Rejected)
    nsqd.configure()
    assert target.send([sized(1, 3_000)]) == {}
    assert target.send([sized(2, 1024 * 1024)]) == {}
    assert len(nsqd.received()) == 2


def test_batches_are_split_at_nsqds_limit(nsqd: NsqServer, make: Callable[..., Target]) -> None:
    target = make()
    nsqd.configure(max_body_size=4_000)
    batch = [sized(index, 900) for index in range(40)]
    largest, larger = sized(40, 3_992), sized(41, 3_993)
    failures = target.send([*batch, larger, largest])
    assert {index: type(each) for index, each in failures.items()} == {40: Rejected}
    assert "see its --max-body-size" in str(failures[40])
    assert paths(nsqd.received()) == [minio.path(each) for each in [*batch, largest]]


def test_a_connection_that_nsqd_closed_is_replaced_without_a_failure(
    nsqd: NsqServer, make: Callable[..., Target]
) -> None:
    for target in (make(), make(nsqd.tls_settings())):
        assert target.send(events(1)) == {}
        nsqd.stop()
        nsqd.start_again()
        assert target.send(events(1)) == {}
    assert len(nsqd.received()) == 4


def test_a_topic_that_is_deleted_meanwhile_is_created_again(
    nsqd: NsqServer, make: Callable[..., Target]
) -> None:
    target = make()
    assert target.send(events(1)) == {}
    nsqd.ask(f"/topic/delete?topic={nsqd.destination}", "POST")
    assert target.send(events(2)) == {}
    assert len(nsqd.received()) == 2


def test_nsqds_http_port_is_recognised(nsqd: NsqServer, make: Callable[..., Target]) -> None:
    target = make(nsqd_address=f"127.0.0.1:{nsqd.http}")
    with pytest.raises(NotConnected, match=r"must be nsqd's TCP address \(4150\)"):
        target.probe()


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([b"OK"], "answer to IDENTIFY cannot be read"),
        ([b'{"tls_v1":"yes"}'], "answer to IDENTIFY cannot be read"),
        ([b'{"tls_v1":false}', b"_heartbeat_"], "nsqd answered b'_heartbeat_' instead of OK"),
        ([b'{"tls_v1":false}'], "nsqd closed the connection"),
        ([b"x" * 70_000], "it does not speak NSQ's protocol"),
    ],
)
def test_an_answer_of_another_server_is_no_confirmation(
    make: Callable[..., Target], answers: list[bytes], expected: str
) -> None:
    with Impostor(*answers) as impostor:
        error = make(nsqd_address=impostor.address).send(events(1))[0]
    assert isinstance(error, NotConnected)
    assert expected in str(error)


def test_a_broken_connection_repeats_only_what_was_in_flight(make: Callable[..., Target]) -> None:
    """All of a batch was, though nsqd had confirmed nothing of it."""
    with Impostor(b'{"tls_v1":false}', to_the_end=True) as impostor:
        failures = make(nsqd_address=impostor.address).send(events(1_000))
    assert len(failures) == 1_000
    assert impostor.heard.count(b"MPUB ") == UNCONFIRMED


@pytest.mark.parametrize("host", ["a..b", "no-such-host.invalid"])
def test_a_name_that_is_no_host_is_not_connected(make: Callable[..., Target], host: str) -> None:
    target = make(nsqd_address=host)
    assert isinstance(target.send(events(1))[0], NotConnected)
    with pytest.raises(NotConnected, match=rf"{host}:4150, topic ev\.events: "):
        target.probe()


def test_nsqd_gets_the_clients_name(nsqd: NsqServer, make: Callable[..., Target]) -> None:
    assert make().send(events(2)) == {}
    clients: list[dict[str, Any]] = nsqd.ask("/stats?format=json&include_clients=true")["producers"]
    (own,) = [each for each in clients if each["user_agent"].startswith("bucketcast/")]
    assert own["pub_counts"] == [{"topic": nsqd.destination, "count": 2}]


class Impostor:
    """Takes one connection, gives it these answers, each to what it heard, and closes it then.

    Or it hears all that is sent, `to_the_end`.
    """

    def __init__(self, *answers: bytes, to_the_end: bool = False) -> None:
        self.heard = b""
        self._answers = answers
        self._to_the_end = to_the_end
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(HANGS_AFTER)
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def address(self) -> str:
        return "127.0.0.1:{1}".format(*self._listener.getsockname())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        with connection:
            connection.settimeout(HANGS_AFTER)
            for answer in self._answers:
                self.heard += connection.recv(65_536)
                size = (len(answer) + 4).to_bytes(4, "big")
                connection.sendall(size + bytes(4) + answer)
            with suppress(ConnectionResetError):
                while (heard := connection.recv(65_536)) and self._to_the_end:
                    self.heard += heard


def test_a_reader_is_told_why_nsqd_reset_the_connection(tmp_path: Path) -> None:
    """The server may be gone before the reader has written its next command."""
    port = ports(tmp_path, "nsqd")["nsqd"]
    reason = b"E_BAD_TOPIC no such topic"
    settings = {"nsqd_address": f"127.0.0.1:{port}", "topic": "topic"}
    with (
        socket.create_server(("127.0.0.1", port)) as listener,
        reader("nsq", settings) as program,
    ):
        client, _ = listener.accept()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.sendall(struct.pack(">ii", len(reason) + 4, 1) + reason)
        client.close()
        assert failure(program).endswith(f": {reason.decode()}\n")
