"""What every target promises while its server is away: it says so, and nothing is lost.

No test measures time. A call that hangs fails by `trial.bounded`; targets that wait for a silent
server have short timeouts.
"""

import re
import threading
from collections import Counter
from itertools import count

import pytest

from bucketcast.errors import DeliveryError, NotAuthorized, NotConnected, Retryable, TimedOut
from bucketcast.event import Event
from bucketcast.shapes import minio
from tests.contract.trial import HANGS_AFTER, SOON, Sender, Trial, event, events

ABOUT_THE_LOGIN = re.compile(r"password|auth|login|token|credential|denied", re.IGNORECASE)


@pytest.mark.parametrize("connected", [True, False], ids=["connected before", "from the start"])
def test_a_server_that_is_down_is_not_connected_until_it_is_up(
    trial: Trial, *, connected: bool
) -> None:
    sender = trial.sender()
    before = events(2, "before") if connected else []
    assert sender.send(before) == {}
    trial.server.stop()
    for _ in range(2):
        reason = sender.refusal(events(3))
        assert isinstance(reason, NotConnected)
        assert not isinstance(reason, NotAuthorized)
    assert isinstance(sender.probe(), NotConnected)
    trial.server.start_again()
    assert sorted(trial.paths()) == sorted(map(minio.path, before))
    sender.send_within_two_tries(events(3))
    assert sorted(trial.paths()) == sorted(map(minio.path, [*before, *events(3)]))
    assert sender.probe() is None


def test_after_a_failure_and_a_close_it_delivers_again(trial: Trial) -> None:
    """As dispatch does: it closes what is not connected any more."""
    sender = trial.sender()
    assert sender.send(events(1)) == {}
    trial.server.stop()
    assert isinstance(sender.refusal(events(2)), NotConnected)
    sender.close()
    trial.server.start_again()
    assert sender.send(events(2)) == {}


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_restart_between_two_batches_costs_one_try_at_most(trial: Trial, end: str) -> None:
    sender = trial.sender()
    assert sender.send(events(2)) == {}
    getattr(trial.server, end)()
    trial.server.start_again()
    sender.send_within_two_tries(events(5))
    assert set(trial.paths()) == {minio.path(each) for each in events(5)}


class Run(threading.Thread):
    """Batches sent one after the other until one fails or it is enough, and what was answered."""

    def __init__(self, sender: Sender) -> None:
        super().__init__(daemon=True)
        self.sender = sender
        self.delivered: list[Event] = []
        self.failed: dict[str, tuple[Event, DeliveryError]] = {}
        self.under_way = threading.Event()
        self.enough = False

    def run(self) -> None:
        for number in count():
            batch = events(50, f"batch-{number}")
            failures = self.sender.send(batch)
            self.failed = {
                minio.path(batch[index]): (batch[index], failures[index]) for index in failures
            }
            self.delivered += [each for each in batch if minio.path(each) not in self.failed]
            if failures or self.enough:
                return
            if number:
                self.under_way.set()


def test_a_server_killed_in_a_run_of_sends_loses_nothing(trial: Trial) -> None:
    sender = trial.sender()
    run = Run(sender)
    run.start()
    assert run.under_way.wait(HANGS_AFTER), "not even two batches were delivered"
    trial.server.kill()
    run.join(HANGS_AFTER)
    run.enough = True
    assert run.failed, "no send failed, although the server is gone"
    assert {type(error) for _, error in run.failed.values()} <= {NotConnected, Retryable, TimedOut}
    trial.server.start_again()
    delivered = {minio.path(each) for each in run.delivered}
    kept = delivered if trial.server.keeps_what_it_confirmed else set()
    assert kept <= set(trial.paths()), "events that were called delivered are not there"
    sender.send_within_two_tries([one for one, _ in run.failed.values()])
    arrived = Counter(trial.paths())
    assert kept | run.failed.keys() <= arrived.keys() <= delivered | run.failed.keys()
    twice = {path for path, times in arrived.items() if times > 1}
    assert twice <= (set() if trial.layout.mirrors else run.failed.keys())


def test_a_silent_server_is_given_up_and_later_used_again(
    one: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one.kind, "timeout", 2.0)
    soon = one.supported(SOON)
    connected, new = one.sender(soon), one.sender(soon)
    assert connected.send(events(1, "before")) == {}
    one.server.pause()
    assert isinstance(connected.refusal(events(2, "connected")), TimedOut)
    assert isinstance(new.refusal(events(2, "new")), TimedOut)
    one.server.resume()
    connected.send_within_two_tries(events(2, "connected"))
    new.send_within_two_tries(events(2, "new"))
    wanted = [*events(1, "before"), *events(2, "connected"), *events(2, "new")]
    assert set(one.paths()) == {minio.path(each) for each in wanted}


def test_a_probe_sees_a_silent_server(one: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    sender = one.sender(one.supported(SOON))
    with monkeypatch.context() as patched:
        patched.setattr(one.kind, "timeout", 2.0)
        one.server.pause()
        assert isinstance(sender.probe(), TimedOut)
    one.server.resume()
    # Its first answers may be late on a busy machine.
    assert None in (sender.probe() for _ in range(10))


def test_a_wrong_password_is_reported_and_nothing_arrives(one: Trial) -> None:
    sender = one.sender(one.server.wrong_password_settings())
    for error in (sender.refusal([event("a")]), sender.refusal(events(50))):
        assert isinstance(error, NotAuthorized)
        assert ABOUT_THE_LOGIN.search(str(error)), error
    assert one.arrivals() == []


def test_a_probe_sees_a_wrong_password(one: Trial) -> None:
    error = one.sender(one.server.wrong_password_settings()).probe()
    assert isinstance(error, NotAuthorized)
    assert ABOUT_THE_LOGIN.search(str(error)), error


def test_a_missing_password_is_reported(one: Trial) -> None:
    without = [key for key, each in one.options.items() if each.secret and not each.required]
    texts = {**one.server.settings(), **dict.fromkeys(without, "")}
    error = one.sender(texts).refusal(events(2))
    assert isinstance(error, NotAuthorized)
    assert ABOUT_THE_LOGIN.search(str(error)), error
    assert one.arrivals() == []
