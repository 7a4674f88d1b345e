"""NSQ alone: topics, limits, permissions, and the connection to nsqd."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from bucketcast.errors import NotAuthorized, NotConnected, Retryable
from bucketcast.event import Event
from bucketcast.shapes import minio
from bucketcast.targets import base
from bucketcast.targets.base.answers import Refusal, TooLargeError
from bucketcast.targets.nsq import Target
from bucketcast.targets.nsq.answers import ANSWERS
from bucketcast.targets.nsq.client import UNCONFIRMED
from tests.contract.case import event, events, path_of
from tests.contract.endpoint import endpoint
from tests.contract.target_factory import making, running
from tests.servers import Arrival
from tests.servers.machine import go_sources
from tests.servers.nsq import LIMITED_SECRET, NsqServer
from tests.unit.samples import kinds_of

Make = Callable[..., Target]
nsqd = running("nsq")
make = making(Target, "nsq", check=False)


def paths(arrivals: list[Arrival]) -> list[str]:
    return [path_of(arrival) for arrival in arrivals]


def sized_event(index: int, length: int) -> Event:
    """An event whose message has that many bytes."""
    shortest = len(minio.log(event(f"{index}", index)))
    return event(f"{index}", index, request_id="r" * (length - shortest))


@pytest.mark.parametrize("topic", ["other", "a.b_c-D9", "n" * 64])
def test_events_go_to_the_topic(nsqd: NsqServer, make: Make, topic: str) -> None:
    assert nsqd.received(topic) == []
    assert make(topic=topic).send(events(3)) == {}
    assert paths(nsqd.received(topic)) == [minio.path(put) for put in events(3)]
    assert nsqd.received() == []


def test_events_go_to_an_ephemeral_topic(nsqd: NsqServer, make: Make) -> None:
    nsqd.configure(mem_queue_size=None)  # without memory it keeps nothing at all
    assert make(topic="brief#ephemeral").send(events(3)) == {}
    assert len(nsqd.received("brief#ephemeral")) == 3


def test_invalid_topic_of_a_secret_is_reported(make: Make) -> None:
    """The value of a secret is not checked before."""
    failures = make(topic="a/b").send(events(2))
    assert [type(error) for error in failures.values()] == [Retryable, Retryable]
    assert "set topic to a name" in str(failures[0])


@pytest.mark.parametrize("key", ["tls", "tls_enable"])
def test_both_names_of_tls_encrypt(nsqd: NsqServer, make: Make, key: str) -> None:
    texts = {**nsqd.tls_settings(), "tls": "off", key: "on"}
    nsqd.configure(tls_required="tcp-https")
    assert make(texts).send(events(1)) == {}
    nsqd.configure()
    assert paths(nsqd.received()) == ["uploads/photo-00001"]


def test_nsqd_that_requires_tls_is_reported_with_the_option(nsqd: NsqServer, make: Make) -> None:
    target = make()
    nsqd.configure(tls_required="tcp-https")
    error = target.send(events(1))[0]
    assert isinstance(error, NotConnected)
    assert "set tls = on" in str(error)


def test_nsqd_without_tls_gets_nothing(nsqd: NsqServer, make: Make) -> None:
    target = make(nsqd.tls_settings())
    nsqd.configure(tls_cert=None, tls_key=None)
    error = target.send(events(1))[0]
    assert isinstance(error, NotConnected)
    assert "start it with --tls-cert" in str(error)
    assert nsqd.received() == []


def test_secret_without_the_permission_is_reported(nsqd: NsqServer, make: Make) -> None:
    assert make(auth_secret=LIMITED_SECRET).send(events(1)) == {}
    target = make(auth_secret=LIMITED_SECRET, topic="other")
    target.probe()
    # So many that nsqd refuses them before it has read them all.
    for batch in (events(1), events(1000)):
        failures = target.send(batch)
        assert failures.keys() == set(range(len(batch)))
        assert {type(error) for error in failures.values()} == {NotAuthorized}
        assert "the permission publish for the topic" in str(failures[0])
    assert nsqd.received("other") == []


def test_secret_is_sent_only_if_nsqd_requires_it(nsqd: NsqServer, make: Make) -> None:
    """Else nsqd answers with an error, and the network sees the secret."""
    identified = b'{"auth_required":false,"tls_v1":false}'
    with endpoint(framed(identified), framed(b"OK")) as (address, received):
        target = make(nsqd_address=address, auth_secret="kept-s3cret")
        assert target.send(events(1)) == {}
        target.close()
    assert b"s3cret" not in b"".join(received)
    assert b"MPUB ev.events\n" in b"".join(received)
    assert nsqd.received() == []


def test_events_too_large_are_rejected_and_the_rest_arrives_in_order(
    nsqd: NsqServer, make: Make
) -> None:
    target = make()
    nsqd.configure(max_msg_size=2_000)
    lengths = [900, 2_000, 2_001, 900, 40_000, *[900] * 300, 3_000, 1_999]
    batch = [sized_event(index, length) for index, length in enumerate(lengths)]
    assert [len(minio.log(put)) for put in batch] == lengths
    failures = target.send(batch)
    assert kinds_of(failures) == dict.fromkeys((2, 4, 305), TooLargeError)
    assert "takes 2001 bytes; nsqd takes 2000: see its --max-msg-size" in str(failures[2])
    expected = [minio.path(put) for index, put in enumerate(batch) if index not in failures]
    assert paths(nsqd.received()) == expected


def test_raised_message_size_is_used_after_a_restart(nsqd: NsqServer, make: Make) -> None:
    target = make()
    nsqd.configure(max_msg_size=2_000)
    assert isinstance(target.send([sized_event(1, 3_000)])[0], TooLargeError)
    nsqd.configure()
    assert target.send([sized_event(1, 3_000)]) == {}
    assert target.send([sized_event(2, 1024 * 1024)]) == {}
    assert len(nsqd.received()) == 2


def test_batches_are_split_at_nsqds_limit(nsqd: NsqServer, make: Make) -> None:
    target = make()
    nsqd.configure(max_body_size=4_000)
    batch = [sized_event(index, 900) for index in range(40)]
    largest, larger = sized_event(40, 3_992), sized_event(41, 3_993)
    failures = target.send([*batch, larger, largest])
    assert kinds_of(failures) == {40: TooLargeError}
    assert "nsqd takes 3992" in str(failures[40])
    assert paths(nsqd.received()) == [minio.path(put) for put in [*batch, largest]]


def test_nsqds_http_port_is_reported(nsqd: NsqServer, make: Make) -> None:
    target = make(nsqd_address=f"127.0.0.1:{nsqd.http}")
    with pytest.raises(NotConnected, match=r"must be nsqd's TCP address \(4150\)"):
        target.probe()


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([b"OK"], "answer to IDENTIFY cannot be read"),
        ([b'{"tls_v1":"yes"}'], "answer to IDENTIFY cannot be read"),
        ([b'{"tls_v1":false}', b"_heartbeat_"], "nsqd answered b'_heartbeat_' instead of OK"),
        ([b'{"tls_v1":false}'], "the server closed the connection"),
        ([b"x" * 70_000], "it does not speak NSQ's protocol"),
    ],
)
def test_answer_of_another_server_is_reported(
    make: Make, answers: list[bytes], expected: str
) -> None:
    # It reads once more before it closes the connection.
    with endpoint(*map(framed, answers), b"") as (address, _):
        error = make(nsqd_address=address).send(events(1))[0]
    assert isinstance(error, NotConnected)
    assert expected in str(error)


def test_few_commands_are_in_flight_when_a_connection_breaks(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole batch fails, but only these can repeat."""
    monkeypatch.setattr(Target, "timeout", 2.0)
    monkeypatch.setattr(base, "CONNECT_SECONDS", 2.0)
    with endpoint(framed(b'{"tls_v1":false}'), stays=True) as (address, received):
        failures = make(nsqd_address=address).send(events(1_000))
    assert len(failures) == 1_000
    assert b"".join(received).count(b"MPUB ") == UNCONFIRMED


def test_nsqd_gets_the_clients_name(nsqd: NsqServer, make: Make) -> None:
    assert make().send(events(2)) == {}
    stats = nsqd.request("/stats?format=json&include_clients=true")
    clients: list[dict[str, Any]] = stats["producers"]
    # nsqd may still list who was connected before.
    named = [info for info in clients if info["user_agent"].startswith("bucketcast/")]
    counts = [{"topic": nsqd.destination, "count": 2}]
    assert counts in [client["pub_counts"] for client in named]


def framed(answer: bytes) -> bytes:
    """An answer as nsqd sends it."""
    return (len(answer) + 4).to_bytes(4, "big") + bytes(4) + answer


def test_every_code_of_nsqd_has_a_verdict() -> None:
    source = go_sources("nsqd", "github.com/nsqio/nsq") / "nsqd" / "protocol_v2.go"
    codes = set(re.findall(r'"(E_[A-Z_]+)', source.read_text(encoding="utf-8")))
    assert len(codes) > 10
    for code in codes:
        listed = ANSWERS.find("", [code])
        assert listed, code
        error = ANSWERS.of(Refusal(f"{code} it", code), "there")
        assert type(error) is listed.verdict.error
