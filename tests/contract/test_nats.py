"""NATS alone: core, JetStream and NATS Streaming."""

import re
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from nats.js.api import DiscardPolicy, StreamConfig

from bucketcast.errors import DeliveryError, NotConnected, Retryable
from bucketcast.event import Event
from bucketcast.targets.base.answers import TooLargeError
from bucketcast.targets.nats import Target
from bucketcast.targets.nats import client as nats_client
from bucketcast.targets.nats.answers import ANSWERS
from bucketcast.targets.nats.jetstream import _Error, _refusal
from tests.contract.case import HANGS_AFTER, bounded, event, events, path_of
from tests.contract.target_factory import running, target_factory
from tests.servers import nats_stream as stream
from tests.servers.machine import go_sources, ports
from tests.servers.nats import LOGIN, TOKEN, NatsServer, StreamingServer
from tests.servers.process import Process
from tests.waiting import last_seen

Make = Callable[..., Target]


core = running("nats-core")
jetstream = running("nats-jetstream")
streaming = running("nats-streaming")
nats = running("nats-core", "nats-jetstream", "nats-streaming")


@pytest.fixture
def make() -> Iterator[Make]:
    with target_factory(Target, dict) as make:
        yield make


def reason(target: Target, batch: list[Event]) -> DeliveryError:
    """Send a batch of which every event fails; return the first event's error."""
    failures = target.send(batch)
    assert failures.keys() == set(range(len(batch)))
    return failures[0]


def probe_error(target: Target) -> str:
    with pytest.raises(DeliveryError) as error:
        target.probe()
    return str(error.value)


def paths(server: NatsServer, subject: str = "") -> list[str]:
    return [path_of(arrival) for arrival in server.received(subject)]


COPIES = [("one", True), ("two", True), ("0123456789abcdef", False)]


def test_stream_stores_a_copy_for_each_named_rule(jetstream: NatsServer, make: Make) -> None:
    """A named rule sends its own notification; the stream drops repeated copies."""
    put = event("a")
    copies = [replace(put, rule=name, named=named) for name, named in COPIES]
    assert make(jetstream.settings()).send([*copies, *copies]) == {}
    ids = [arrival.headers["Nats-Msg-Id"] for arrival in jetstream.received()]
    assert ids == [copy.copy_id for copy in copies]
    assert (len(set(ids)), ids[2]) == (3, put.id)


def test_server_without_headers_gets_none(core: NatsServer, make: Make) -> None:
    with core.configured(f"{LOGIN}\nno_header_support: true"):
        assert make(core.settings()).send([event("plain")]) == {}
        for overrides in ({"jetstream": "on"}, {"shape": "cloudevents-binary"}):
            error = reason(make(core.settings(**overrides)), events(2))
            assert type(error) is Retryable
            assert "this server supports no headers" in str(error)
    (arrival,) = core.received()
    assert (path_of(arrival), arrival.headers) == ("uploads/plain", {})


def test_ping_follows_the_last_message(core: NatsServer, make: Make) -> None:
    with core.configured(f"{LOGIN}\ntrace: true"):
        assert make(core.settings()).send(events(3)) == {}
    log = (core.folder / "log").read_text()
    (connection,) = set(re.findall(r"(cid:[0-9]+) .*<<- \[HPUB ev.events", log))
    commands = re.findall(rf"{connection} .*<<- \[(HPUB|PING)", log)
    assert commands == ["PING", "HPUB", "HPUB", "HPUB", "PING"]


def test_duplicate_of_a_stored_event_is_delivered(jetstream: NatsServer, make: Make) -> None:
    for _ in range(2):
        target = make(jetstream.settings())
        assert target.send(events(3)) == {}
    assert len(jetstream.received()) == 3


def test_missing_stream_is_reported_until_it_is_created(jetstream: NatsServer, make: Make) -> None:
    target = make(jetstream.settings(subject="later.events"))
    error = reason(target, events(3))
    assert type(error) is Retryable
    hint = "create one, for example by `nats stream add events --subjects later.events`"
    assert hint in str(error)
    assert hint in probe_error(target)
    config = StreamConfig(name="later", subjects=["later.>"])
    jetstream.use_streams(lambda streams: streams.add_stream(config))
    target.probe()
    assert target.send(events(3)) == {}


def test_a_stream_that_confirms_nothing_is_refused(jetstream: NatsServer, make: Make) -> None:
    jetstream.use_streams(partial(stream.replace_all, no_ack=True))
    target = make(jetstream.settings())
    error = reason(target, events(3))
    assert type(error) is Retryable
    assert "confirms nothing (no_ack): `nats stream edit" in str(error)
    assert str(error) in probe_error(target)
    jetstream.use_streams(stream.replace_all)
    assert target.send(events(3)) == {}
    assert len(jetstream.received()) == 3


@pytest.fixture
def leaf(jetstream: NatsServer, servers_folder: Path) -> Iterator[str]:
    """Start a leaf node of `jetstream`, whose domain is then `hub`; provide its address."""
    folder = servers_folder / "nats-leaf"
    numbers = ports(folder, "hub", "leaf")
    hub, address = (f"127.0.0.1:{numbers[name]}" for name in ("hub", "leaf"))
    file = folder / "leaf.conf"
    file.write_text(f"""
listen: "{address}"
{LOGIN}
jetstream {{ domain: leaf, store_dir: "{folder}/jetstream" }}
leafnodes {{ remotes: [{{ url: "nats://{TOKEN}@{hub}" }}] }}
""")

    def check_ready() -> None:
        socket.create_connection((address.partition(":")[0], numbers["leaf"])).close()

    program = jetstream.process.arguments[0]
    process = Process(
        [program, "-c", str(file)], folder, ready=check_ready, not_ready_yet=(OSError,)
    )
    with jetstream.configured(f'{LOGIN}\nleafnodes {{ listen: "{hub}" }}', more="domain: hub"):
        jetstream.use_streams(stream.replace_all)
        process.start()
        yield address
        process.stop()


def test_a_stream_behind_a_leaf_node_is_found_in_its_domain(
    jetstream: NatsServer, leaf: str, make: Make
) -> None:
    target = make(jetstream.settings(address=leaf, jetstream_domain="hub"))
    last_seen(lambda: reaches_hub(target))
    assert target.send(events(3)) == {}
    assert len(jetstream.received()) == 3
    elsewhere = make(jetstream.settings(address=leaf))
    assert "jetstream_domain" in probe_error(elsewhere)


def reaches_hub(target: Target) -> bool:
    """Whether the leaf node has reached its hub."""
    with suppress(DeliveryError):
        target.probe()
        return True
    return False


def test_every_error_of_jetstream_has_a_verdict() -> None:
    folder = go_sources("nats-server", "github.com/nats-io/nats-server/v2")
    told = msgspec.json.decode((folder / "server" / "errors.json").read_bytes())
    assert len(told) > 100
    for each in told:
        error = _refusal(_Error(each["code"], each["error_code"]))
        listed = ANSWERS.find("", [str(each["error_code"]), str(each["code"])])
        assert listed, each
        assert type(error) is listed.verdict.error


def test_server_without_jetstream_is_reported(streaming: StreamingServer, make: Make) -> None:
    settings = {**streaming.settings(), "streaming": "off", "jetstream": "on"}
    target = make(settings)
    assert "no stream has the subject" in str(reason(target, events(1)))
    assert "JetStream is off" in probe_error(target)


def test_event_too_large_for_the_stream_waits(jetstream: NatsServer, make: Make) -> None:
    jetstream.use_streams(partial(stream.replace_all, max_msg_size=2_000))
    large = event("large", 2, principal="p" * 2_000)
    failures = make(jetstream.settings()).send([event("a"), large, event("b", 3)])
    assert {index: type(error) for index, error in failures.items()} == {1: TooLargeError}
    assert "raise --max-msg-size of the stream" in str(failures[1])
    assert paths(jetstream) == ["uploads/a", "uploads/b"]


def test_event_too_large_for_the_server_waits(nats: NatsServer, make: Make) -> None:
    large = event("large", 2, principal="p" * 2_000)
    with nats.configured(f"{LOGIN}\nmax_payload: 4096"):
        failures = make(nats.settings()).send([event("a"), large, event("b", 3)])
        assert {index: type(error) for index, error in failures.items()} == {1: TooLargeError}
        assert "max_payload of the server is 4096: raise it" in str(failures[1])
        assert paths(nats) == ["uploads/a", "uploads/b"]


def test_full_stream_stores_the_events_that_fit(jetstream: NatsServer, make: Make) -> None:
    jetstream.use_streams(partial(stream.replace_all, max_msgs=2, discard=DiscardPolicy.NEW))
    failures = make(jetstream.settings()).send(events(4))
    assert {index: type(error) for index, error in failures.items()} == {2: Retryable, 3: Retryable}
    assert "maximum messages exceeded" in str(failures[2])


def test_closed_connection_is_replaced(
    nats: NatsServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frozen function may or may not see that the server closed it."""
    target = make(nats.settings())
    assert target.send(events(2)) == {}
    nats.stop()
    nats.start_again()
    assert target.send(events(2, "later")) == {}
    monkeypatch.setattr(nats_client, "IDLE_SECONDS", -1.0)
    assert target.send(events(2, "idle")) == {}
    assert len(nats.received()) == 6


def test_ping_interval_detects_a_server_that_does_not_answer(
    core: NatsServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else ends the wait before the test fails."""
    monkeypatch.setattr(Target, "timeout", 2 * HANGS_AFTER)
    pings = make(core.settings(ping_interval="1s"))
    assert pings.send(events(1)) == {}
    core.pause()
    error = bounded(lambda: reason(pings, events(2, "unseen")))
    assert isinstance(error, NotConnected)
    assert "stale connection" in str(error).lower()
    core.resume()


@pytest.mark.parametrize(
    ("overrides", "sent"),
    [
        ({"streaming_async": "off"}, 1),
        ({"streaming_async": "off", "streaming_max_pub_acks_in_flight": "10"}, 1),
        ({"streaming_async": "on", "streaming_max_pub_acks_in_flight": "10"}, 10),
        ({"streaming_async": "on"}, 100),
    ],
)
def test_streaming_options_limit_messages_in_flight(
    streaming: StreamingServer,
    make: Make,
    monkeypatch: pytest.MonkeyPatch,
    overrides: Any,
    sent: int,
) -> None:
    monkeypatch.setattr(nats_client, "IDLE_SECONDS", 600.0)
    target = make(streaming.settings(**overrides))
    target.probe()
    with monkeypatch.context() as patched:
        patched.setattr(Target, "timeout", 1.0)
        streaming.pause()
        assert isinstance(reason(target, events(100)), NotConnected)
    streaming.resume()
    assert make(streaming.settings()).send([event("last")]) == {}
    # The server reads both connections concurrently.
    found = last_seen(streaming.received, lambda found: len(found) > sent)
    assert len(found) == sent + 1


def test_wrong_cluster_id_is_reported(streaming: StreamingServer, make: Make) -> None:
    target = make(streaming.settings(streaming_cluster_id="other"))
    error = reason(target, events(2))
    assert isinstance(error, NotConnected)
    assert "streaming_cluster_id 'other'" in str(error)
    assert "streaming_cluster_id 'other'" in probe_error(target)


def test_client_registers_again_after_missed_heartbeats(
    streaming: StreamingServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frozen function does not answer the streaming server's heartbeats."""
    monkeypatch.setattr(nats_client, "IDLE_SECONDS", 600.0)
    monkeypatch.setattr(nats_client, "CLOSE_SECONDS", HANGS_AFTER)
    heartbeats = f'token: "{TOKEN}", hb_interval: 500ms, hb_timeout: 1s, hb_fail_count: 1'
    with streaming.configured(more=heartbeats):
        target = make(streaming.settings())
        assert target.send(events(1)) == {}
        last_seen(streaming.clients, lambda clients: not clients)
        error = reason(target, events(2, "unknown"))
        assert isinstance(error, NotConnected)
        assert "does not know this client any more" in str(error)
        assert target.send(events(2, "unknown")) == {}
        target.close()
        assert streaming.clients() == []
    assert len(streaming.received()) == 3
