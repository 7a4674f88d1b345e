"""Lets the planned faults happen, each in its time, and writes down what happened and when."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tests.chaos import functions
from tests.chaos.breakage import FUNCTION, INGEST, Fault
from tests.chaos.load import Progress
from tests.e2e.deployment import STACK
from tests.e2e.system import Deployed
from tests.e2e.ten import Ten
from tests.servers import Server
from tests.servers.link import Link
from tests.servers.logins import login_of
from tests.servers.mqtt import MqttServer

CUT_CHANCE = 0.25
"""How likely each piece of an answer is the last one of its connection."""
TRAFFIC_WITHIN = 15.0
_SAYING = "changed-s3cret-"


@dataclass(frozen=True, slots=True)
class Done:
    """A fault that has happened; `began` and `ended` are Unix seconds."""

    fault: Fault
    began: float
    ended: float
    detail: str


class Faults:
    """A thread for each target and one for ingest: what befalls one does not wait for another."""

    def __init__(self, planned: Sequence[Fault], system: Deployed, ten: Ten) -> None:
        self.done: list[Done] = []
        self._system = system
        self._ten = ten
        self._secrets = {kind: login_of(kind).secret for kind in ten.running}
        self._failed: list[BaseException] = []
        self._of: dict[str, list[Fault]] = defaultdict(list)
        for each in planned:
            self._of[each.whom].append(each)

    @contextmanager
    def during(self, progress: Progress) -> Iterator[None]:
        """Let them happen while something is done, and wait until the last is over."""
        threads = [
            threading.Thread(target=self._befall, args=(each, progress), name=f"faults {whom}")
            for whom, each in self._of.items()
        ]
        for each in threads:
            each.start()
        try:
            yield
        finally:
            for each in threads:
                each.join()
        if self._failed:
            raise self._failed[0]

    def _befall(self, faults: Sequence[Fault], progress: Progress) -> None:
        try:
            for each in faults:
                if not progress.wait_for(each.at):
                    return
                self._wait_for_traffic(each.whom)
                began = time.time()
                detail = self._let_happen(each)
                self.done.append(Done(each, began, time.time(), detail))
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            self._failed.append(error)
            progress.fail()

    def _wait_for_traffic(self, whom: str) -> None:
        """Wait until something is on its way there, but not for ever."""
        queue = self._system.ingress if whom == INGEST else self._system.targets[whom]["queue"]
        deadline = time.monotonic() + TRAFFIC_WITHIN
        while not self._system.depth(queue) and time.monotonic() < deadline:
            time.sleep(0.05)

    def _let_happen(self, fault: Fault) -> str:
        if fault.what == FUNCTION:
            return self._kill_function(fault.whom)
        kind = fault.whom.partition(".")[0]
        server, link = self._ten.running[kind], self._ten.links[kind]
        if fault.what == "login changed":
            return self._change_login(kind, fault)
        before = link.cut
        _SERVERS[fault.what](server, link, fault.seconds)
        return f"{link.cut - before} connections cut" if link.cut != before else ""

    def _kill_function(self, whom: str) -> str:
        if whom == INGEST:
            name, queue = f"{STACK}-ingest", self._system.ingress
        else:
            target = self._system.targets[whom]
            name, queue = target["function"], target["queue"]
        killed, in_flight = functions.kill_when_busy(self._system, name, queue)
        return f"{killed} processes with {in_flight} messages in hand"

    def _change_login(self, kind: str, fault: Fault) -> str:
        """The server's first, and the secret's when some were refused."""
        login, old = login_of(kind), self._secrets[kind]
        if login.change is None:
            return "there is no way to change it"
        word = f"{_SAYING}{kind}-{fault.at:.6f}".replace(".", "")
        new = login.form.format(word)
        login.change(self._ten.running[kind], old, new)
        self._ten.links[kind].sever()
        time.sleep(fault.seconds)
        secrets = self._system.client("secretsmanager")
        name = f"bucketcast/{fault.whom.replace('.', '-')}/"
        changed = 0
        for each in secrets.list_secrets(MaxResults=100)["SecretList"]:
            if each["Name"].startswith(name):
                text = secrets.get_secret_value(SecretId=each["Name"])["SecretString"]
                if old in text:
                    replaced = text.replace(old, new)
                    secrets.put_secret_value(SecretId=each["Name"], SecretString=replaced)
                    changed += 1
        assert changed == 1, f"{changed} secrets of {fault.whom} hold its login"
        self._secrets[kind] = new
        return ""


def _killed(server: Server, link: Link, seconds: float) -> None:
    if isinstance(server, MqttServer):
        # Killed, it forgets what it confirmed and has not handed on: let it have handed on all.
        link.cut_off()
        server.observer.receive_all()
    server.kill()
    link.restore()
    time.sleep(seconds)
    server.start_again()


def _stopped(server: Server, _: Link, seconds: float) -> None:
    server.stop()
    time.sleep(seconds)
    server.start_again()


def _frozen(server: Server, _: Link, seconds: float) -> None:
    server.pause()
    try:
        time.sleep(seconds)
    finally:
        server.resume()


def _cut_in_mid_answer(_: Server, link: Link, seconds: float) -> None:
    link.cut_answers(CUT_CHANCE)
    try:
        time.sleep(seconds)
    finally:
        link.restore()


def _cut_off(_: Server, link: Link, seconds: float) -> None:
    link.cut_off()
    try:
        time.sleep(seconds)
    finally:
        link.restore()


_SERVERS: dict[str, Callable[[Server, Link, float], None]] = {
    "killed": _killed,
    "stopped": _stopped,
    "frozen": _frozen,
    "connections cut in mid-answer": _cut_in_mid_answer,
    "cut off": _cut_off,
}
