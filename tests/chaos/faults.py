"""Perform the planned faults, each at its time, and record them."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from tests.chaos import functions
from tests.chaos.breakage import FUNCTION, INGEST, Fault
from tests.chaos.load import Progress
from tests.e2e.all_servers import AllServers
from tests.e2e.deployment import STACK
from tests.e2e.system import Deployed
from tests.servers import Server
from tests.servers.link import Link
from tests.servers.logins import login_of
from tests.servers.mqtt import MqttServer
from tests.waiting import last_seen

CUT_CHANCE = 0.25
"""The probability that a connection is cut after a piece of an answer."""
TRAFFIC_WITHIN = 15.0
_PASSWORD = "changed-s3cret-"


class Faults:
    """A thread for each target and one for ingest: faults of one do not wait for another's.

    `killed` counts the functions' processes that were killed.
    """

    def __init__(self, planned: Sequence[Fault], system: Deployed, all_servers: AllServers) -> None:
        self.done: list[Fault] = []
        self.killed = 0
        self._system = system
        self._all_servers = all_servers
        self._failed: list[BaseException] = []
        self._by_target: dict[str, list[Fault]] = defaultdict(list)
        for fault in planned:
            self._by_target[fault.target].append(fault)

    @contextmanager
    def during(self, progress: Progress) -> Iterator[None]:
        """Perform them while the block runs, and wait until the last is over."""
        threads = [
            threading.Thread(
                target=self._perform_all, args=(faults, progress), name=f"faults {target}"
            )
            for target, faults in self._by_target.items()
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            for thread in threads:
                thread.join()
        if self._failed:
            raise self._failed[0]

    def _perform_all(self, faults: Sequence[Fault], progress: Progress) -> None:
        try:
            for fault in faults:
                if not progress.wait_for(fault.at):
                    return
                self._wait_for_traffic(fault.target)
                self._perform(fault)
                self.done.append(fault)
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            self._failed.append(error)
            progress.fail()

    def _wait_for_traffic(self, target: str) -> None:
        """Wait until events are on their way there, but not for ever."""
        ingest = target == INGEST
        queue = self._system.ingress if ingest else self._system.targets[target]["queue"]
        last_seen(lambda: self._system.depth(queue), within=TRAFFIC_WITHIN)

    def _perform(self, fault: Fault) -> None:
        kind = fault.target.partition(".")[0]
        if fault.kind == FUNCTION:
            self._kill_function(fault.target)
        elif fault.kind == "login changed":
            self._change_login(kind, fault)
        else:
            server, link = self._all_servers.running[kind], self._all_servers.links[kind]
            begin, end = _SERVERS[fault.kind]
            begin(server, link)
            try:
                time.sleep(fault.seconds)
            finally:
                end(server, link)

    def _kill_function(self, target: str) -> None:
        if target == INGEST:
            name, queue = f"{STACK}-ingest", self._system.ingress
        else:
            deployed = self._system.targets[target]
            name, queue = deployed["function"], deployed["queue"]
        self.killed += functions.kill_when_busy(self._system, name, queue)

    def _change_login(self, kind: str, fault: Fault) -> None:
        """Change the server's first, and the secret's after some logins were refused."""
        login, old = login_of(kind), self._all_servers.secrets[kind]
        if login.change is None:
            return
        password = f"{_PASSWORD}{kind}-{fault.at:.6f}".replace(".", "")
        new = login.form.format(password)
        self._all_servers.change_login(kind, new)
        time.sleep(fault.seconds)
        secrets = self._system.client("secretsmanager")
        name = f"bucketcast/{fault.target.replace('.', '-')}/"
        changed = 0
        for secret in secrets.list_secrets(MaxResults=100)["SecretList"]:
            if secret["Name"].startswith(name):
                value = secrets.get_secret_value(SecretId=secret["Name"])["SecretString"]
                if old in value:
                    replaced = value.replace(old, new)
                    secrets.put_secret_value(SecretId=secret["Name"], SecretString=replaced)
                    changed += 1
        assert changed == 1, f"{changed} secrets of {fault.target} hold its login"


def _kill(server: Server, link: Link) -> None:
    if isinstance(server, MqttServer):
        # A killed broker forgets confirmed messages that it has not delivered: receive all first.
        link.cut_off()
        server.observer.receive_all()
    server.kill()
    link.restore()


def _start_again(server: Server, _: Link) -> None:
    server.start_again()


def _restore(_: Server, link: Link) -> None:
    link.restore()


Act = Callable[[Server, Link], object]
_SERVERS: Mapping[str, tuple[Act, Act]] = {
    "killed": (_kill, _start_again),
    "stopped": (lambda server, _: server.stop(), _start_again),
    "frozen": (lambda server, _: server.pause(), lambda server, _: server.resume()),
    "connections cut in mid-answer": (lambda _, link: link.cut_answers(CUT_CHANCE), _restore),
    "cut off": (lambda _, link: link.cut_off(), _restore),
}
"""How each fault begins and ends."""
