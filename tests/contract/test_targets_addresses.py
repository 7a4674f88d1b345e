"""A name with several addresses, over TLS: those that do not answer stop and delay no target.

The resolver is patched, so its answers are the test's; for libcurl, which asks its own, they are
given to each handle. The name is `localhost`, as it is in the server's certificate.
"""

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from typing import Any

import pytest

from bucketcast.settings.egress import VARIABLE
from tests.contract.case import Case, events
from tests.servers.link import Links

GOOD = "127.0.0.1"
ADDRESSES = [f"127.0.0.{number}" for number in range(2, 10)]
"""Of this machine too, and no server listens there."""
Answers = Callable[[Sequence[str]], None]


@pytest.fixture
def resolve_to(monkeypatch: pytest.MonkeyPatch) -> Answers:
    """Return a function that sets the addresses of `localhost`, with its dot or without."""
    own, addresses, tell = socket.getaddrinfo, [GOOD], list[Callable[[], None]]()

    def getaddrinfo(host: Any, port: Any, *rest: Any, **options: Any) -> list[Any]:
        if str(host).removesuffix(".") != "localhost":
            return own(host, port, *rest, **options)
        return [each for one in addresses for each in own(one, port, *rest, **options)]

    def set_addresses(new: Sequence[str]) -> None:
        addresses[:] = new
        for each in tell:
            each()

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    if find_spec("pycurl"):  # only its kind's environment has it
        _tell_curl(monkeypatch, addresses, tell)
    return set_addresses


def _tell_curl(
    monkeypatch: pytest.MonkeyPatch, addresses: list[str], tell: list[Callable[[], None]]
) -> None:
    import pycurl  # noqa: PLC0415

    from bucketcast.targets.webhook import client  # noqa: PLC0415

    new_handle = client.new_handle

    def with_answers(settings: Any) -> Any:
        handle, server = new_handle(settings), settings.endpoint.split("/")[2]

        def set_answers() -> None:
            shown = ",".join(f"[{each}]" if ":" in each else each for each in addresses)
            handle.setopt(pycurl.RESOLVE, [f"-{server}", f"{server}:{shown}"])

        tell.append(set_answers)
        set_answers()
        return handle

    monkeypatch.setattr(client, "new_handle", with_answers)


@pytest.fixture
def swallow() -> Iterator[Callable[[str, int], None]]:
    """Return a function that lets an address swallow packets: its queue of connections is full."""
    with ExitStack() as opened:

        def fill(address: str, port: int) -> None:
            listener = opened.enter_context(socket.socket())
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address, port))
            listener.listen(0)
            for _ in range(3):
                one = opened.enter_context(socket.socket())
                one.settimeout(0)
                one.connect_ex((address, port))

        yield fill


def settings_over_tls(case: Case, host: str = "localhost") -> dict[str, str]:
    settings = case.server.mtls_settings()
    return {
        key: text.replace(GOOD, "localhost").replace("localhost", host)
        for key, text in settings.items()
    }


def port_of(case: Case) -> int:
    (endpoint,) = case.sender(case.server.mtls_settings()).target.endpoints()
    return endpoint.port


def assert_delivers(case: Case, host: str = "localhost") -> None:
    assert case.sender(settings_over_tls(case, host)).send(events(9)) == {}
    assert len(case.arrivals()) == 9


@pytest.mark.parametrize(("dead", "silent"), [(1, 1), (1, 0), (8, 8)])
def test_dead_addresses_before_the_good_one(
    resolved_case: Case,
    resolve_to: Answers,
    swallow: Callable[[str, int], None],
    dead: int,
    silent: int,
) -> None:
    for address in ADDRESSES[:silent]:
        swallow(address, port_of(resolved_case))
    resolve_to([*ADDRESSES[:dead], GOOD])
    assert_delivers(resolved_case)


def test_an_address_of_ipv6_alone(resolved_case: Case, resolve_to: Answers, relays: Links) -> None:
    port = port_of(resolved_case)
    relays.open(resolved_case.server.process.folder, port, port, host="::1")
    resolve_to(["::1"])
    assert_delivers(resolved_case)


def test_a_name_that_moves_to_another_address(
    resolved_case: Case, resolve_to: Answers, relays: Links
) -> None:
    port = port_of(resolved_case)
    link = relays.open(resolved_case.server.process.folder, port, port, host=ADDRESSES[0])
    resolve_to(ADDRESSES[:1])
    sender = resolved_case.sender(settings_over_tls(resolved_case))
    assert sender.send(events(3)) == {}
    link.cut_off()
    resolve_to([GOOD])
    sender.send_until_delivered(events(3, "later"))
    assert len(set(resolved_case.paths())) == 6


def test_a_name_with_a_dot_at_its_end(resolved_case: Case, resolve_to: Answers) -> None:
    resolve_to([GOOD])
    assert_delivers(resolved_case, "localhost.")


def test_an_address_that_the_stack_forbids(
    resolved_case: Case, resolve_to: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve_to([GOOD])
    monkeypatch.setenv(VARIABLE, "none")
    refusal = resolved_case.sender(settings_over_tls(resolved_case)).refusal(events(3))
    assert "127.0.0.1 is a loopback address, which allow_private does not allow" in str(refusal)
    assert resolved_case.arrivals() == []
    monkeypatch.setenv(VARIABLE, "127.0.0.0/8")
    assert_delivers(resolved_case)


@pytest.fixture
def relays() -> Iterator[Links]:
    links = Links()
    yield links
    links.close()
