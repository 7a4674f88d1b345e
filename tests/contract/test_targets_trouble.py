"""Every target while its server is away: it reports that, and loses nothing.

No test measures time. A call that hangs fails by `case.bounded`; targets that wait for a silent
server have short timeouts.
"""

import re
import threading
from collections import Counter
from collections.abc import Callable
from itertools import count

import pytest

from bucketcast.errors import (
    BreakerOpen,
    DeliveryError,
    NotAuthorized,
    NotConnected,
    Retryable,
    TimedOut,
)
from bucketcast.event import Event
from bucketcast.shapes import minio
from bucketcast.targets.base import Target
from bucketcast.targets.base.mirror import Mirror
from tests.contract.case import (
    HANGS_AFTER,
    SHORT_TIMEOUT,
    Case,
    Sender,
    bounded,
    event,
    events,
)

ABOUT_THE_LOGIN = re.compile(r"password|auth|login|token|credential|denied", re.IGNORECASE)


def test_a_stopped_server_is_not_connected_until_it_runs_again(server_case: Case) -> None:
    """Dispatch closes a target that is not connected any more."""
    senders = {name: server_case.sender() for name in ("new", "connected", "closed")}
    resting, before = server_case.sender(), events(2, "before")
    assert senders["connected"].send(before) == senders["closed"].send(events(1, "first")) == {}
    assert resting.send(events(1, "early")) == {}
    reads = reads_of(server_case.sender().target)
    server_case.server.stop()
    for sender in senders.values():
        for _ in range(2):
            reason = sender.refusal(events(3))
            assert isinstance(reason, NotConnected)
            assert not isinstance(reason, NotAuthorized)
        assert isinstance(sender.probe(), NotConnected)
    for read in reads:
        with pytest.raises(NotConnected):
            bounded(read)
    senders["closed"].close()
    server_case.server.start_again()
    delivered = [*before, *events(1, "first"), *events(1, "early")]
    assert sorted(server_case.paths()) == sorted(map(minio.path, delivered))
    assert senders["closed"].send(events(3, "closed")) == {}
    assert resting.send(events(3, "late")) == {}, "it replaces what the server closed"
    for name in ("new", "connected"):
        senders[name].send_twice_at_most(events(3, name))
    delivered += [put for name in (*senders, "late") for put in events(3, name)]
    assert sorted(server_case.paths()) == sorted(map(minio.path, delivered))
    assert [sender.probe() for sender in senders.values()] == [None, None, None]


def reads_of(target: Target) -> list[Callable[[], object]]:
    """Return what reconcile reads of a mirror; nothing of what is none."""
    if not isinstance(target, Mirror):
        return []
    partition, *_ = target.partitions(1)
    return [
        lambda: target.partitions(1),
        lambda: list(target.stored_rows(partition, "uploads/")),
        lambda: target.merged_states(["uploads/a"]),
    ]


class Run(threading.Thread):
    """Send batches until one fails or `stopped` is set, and record the results."""

    def __init__(self, sender: Sender) -> None:
        super().__init__(daemon=True)
        self.sender = sender
        self.delivered: list[Event] = []
        self.failed: dict[str, tuple[Event, DeliveryError]] = {}
        self.under_way = threading.Event()
        self.stopped = False

    def run(self) -> None:
        for number in count():
            batch = events(50, f"batch-{number}")
            failures = self.sender.send(batch)
            self.failed = {
                minio.path(batch[index]): (batch[index], failures[index]) for index in failures
            }
            self.delivered += [event_ for event_ in batch if minio.path(event_) not in self.failed]
            if failures or self.stopped:
                return
            if number:
                self.under_way.set()


def test_a_server_killed_between_sends_loses_nothing(server_case: Case) -> None:
    case, sender = server_case, server_case.sender()
    run = Run(sender)
    run.start()
    assert run.under_way.wait(HANGS_AFTER), "not even two batches were delivered"
    case.server.kill()
    run.join(HANGS_AFTER)
    run.stopped = True
    assert run.failed, "no send failed, although the server is gone"
    expected = {NotConnected, Retryable, TimedOut, BreakerOpen}
    assert {type(error) for _, error in run.failed.values()} <= expected
    case.server.start_again()
    delivered = {minio.path(event_) for event_ in run.delivered}
    kept = delivered if case.server.keeps_what_it_confirmed else set()
    assert kept <= set(case.paths()), "events that were called delivered are not there"
    sender.send_twice_at_most([event_ for event_, _ in run.failed.values()])
    arrived = Counter(case.paths())
    assert kept | run.failed.keys() <= arrived.keys() <= delivered | run.failed.keys()
    repeated = {path for path, times in arrived.items() if times > 1}
    assert repeated <= (set() if case.layout.mirrors else run.failed.keys())


def test_a_silent_server_times_out_and_is_used_again(
    server_case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = server_case.supported(SHORT_TIMEOUT)
    connected, new = server_case.sender(settings), server_case.sender(settings)
    with monkeypatch.context() as patched:
        server_case.shorten_waits(patched)
        connected.send_until_delivered(events(1, "before"))
        server_case.server.pause()
        assert isinstance(connected.refusal(events(2, "connected")), TimedOut)
        assert isinstance(new.refusal(events(2, "new")), TimedOut)
    server_case.server.resume()
    connected.send_until_delivered(events(2, "connected"))
    new.send_until_delivered(events(2, "new"))
    expected = [*events(1, "before"), *events(2, "connected"), *events(2, "new")]
    assert set(server_case.paths()) == {minio.path(event_) for event_ in expected}


def test_a_probe_detects_a_silent_server(
    server_case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    sender = server_case.sender(server_case.supported(SHORT_TIMEOUT))
    with monkeypatch.context() as patched:
        server_case.shorten_waits(patched)
        server_case.server.pause()
        assert isinstance(sender.probe(), TimedOut)
    server_case.server.resume()
    # Its first answers may be late on a busy machine.
    assert None in (sender.probe() for _ in range(10))


@pytest.mark.parametrize("host", ["nowhere.invalid", "a..b"])
def test_an_unknown_host_is_not_connected(server_case: Case, host: str) -> None:
    sender = server_case.sender(server_case.settings_at(host))
    for error in (sender.refusal(events(3)), sender.probe()):
        assert isinstance(error, NotConnected)
        assert not isinstance(error, NotAuthorized)


def test_a_wrong_password_is_reported_and_nothing_arrives(server_case: Case) -> None:
    sender = server_case.sender(server_case.server.wrong_password_settings())
    for error in (sender.refusal([event("a")]), sender.refusal(events(50))):
        assert isinstance(error, NotAuthorized)
        assert ABOUT_THE_LOGIN.search(str(error)), error
    assert server_case.arrivals() == []


def test_a_missing_password_is_reported(server_case: Case) -> None:
    secrets = [
        key for key, option in server_case.options.items() if option.secret and not option.required
    ]
    settings = {**server_case.server.settings(), **dict.fromkeys(secrets, "")}
    error = server_case.sender(settings).refusal(events(2))
    assert isinstance(error, NotAuthorized)
    assert ABOUT_THE_LOGIN.search(str(error)), error
    assert server_case.arrivals() == []
