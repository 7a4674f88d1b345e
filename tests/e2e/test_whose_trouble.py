"""Targets in trouble, each with its own: no other event waits, and what one sees of it is true.

Five objects a second go to five targets at once: a healthy one with a function of its own, and
four with a trouble each. Then more come to them, and to four other targets, while somebody looks.
"""

import json
import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import count, groupby
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from psycopg import sql

from bucketcast import sources
from bucketcast.delivery.dead_letters import DeadLetters, letter, of_event
from bucketcast.delivery.envelope import Delivery
from bucketcast.delivery.policy import History
from bucketcast.delivery.queue import Queue
from bucketcast.dlq.letter import Letter
from tests.conftest import start_or_fail
from tests.e2e.records import message, record
from tests.e2e.system import RETURN_SECONDS, System, repeated
from tests.servers.receiver import Answer, Request
from tests.servers.tls import Tls
from tests.servers.webhook import WebhookServer

FIRST = [f"first-{number}.jpg" for number in range(30)]
FIRST_SECONDS = 5.0
"""One webhook takes so long to answer the first puts: they start all the functions that may run."""
PUTS = [f"{number:03}.jpg" for number in range(240)]
PUTS_PER_SECOND = 5
HEALTHY = "webhook.primary"
SILENT = {PUTS[30], PUTS[60], PUTS[61]}
"""What one webhook never answers."""
ROW = "row.jpg"
"""The object of the locked row: it is there before, and is put again and again."""
PUTS_PER_ROW = 60
LATE_SECONDS = 30.0
"""So long events that are late are waited for."""
NEVER_SECONDS = 3_600.0
LOOK_SECONDS = 0.5
OTHERS_SECONDS = 5.0
SLOW_SECONDS = 1.0
REMOVED_AT_ONCE = 4
OLDEST_SECONDS = 60.0
"""So long after its first event a target that takes none is known to be in trouble."""
TRIES_PER_SECOND = 1
MOST_BURIED = 40
TABLE = "trouble"
OUTAGE = {"refusing": "127.0.0.1:1", "hanging": "", "rejecting": "", "slow": ""}
"""The addresses of targets in the outage; empty is the one webhook."""
STATES = {
    "refusing": "offline",
    **dict.fromkeys(("hanging", "rejecting", "unavailable", "wrong"), "failing"),
    **dict.fromkeys(("slow", "silent", "locked"), "online"),
}
LETTERS = 2_990
GROUP = 5
"""Letters whose reason looks like that of the others."""
REASON = "answered 422: no such album"
REJECTED = rf"/(?!{len(PUTS) // 10}\d\.)\d+\.jpg"
"""The first ten are taken: what takes nothing at all would keep its events."""
ALIKE = f"{REASON} title"


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen in so many `seconds`, by the name of a target.

    `delays` are the seconds from put to arrival of the events that are in no trouble themselves; of
    one that did not arrive, those until the end. `tries` are requests, `buried` dead letters.
    """

    seconds: float
    delays: Mapping[str, list[float]]
    tries: Mapping[str, int]
    buried: Mapping[str, int]

    def p99(self, target: str) -> float:
        ordered = sorted(self.delays[target])
        return ordered[math.ceil(0.99 * len(ordered)) - 1]

    def assert_none_waited(self, target: str) -> None:
        """Require that the others came about as soon as on this machine a healthy target's do."""
        healthy, others = self.p99(HEALTHY), self.p99(target)
        assert others <= 2 * healthy + OTHERS_SECONDS, (
            f"p99 {others:.1f} s; healthy {healthy:.1f} s"
        )


class Scene:
    """The targets in trouble, with rules for one prefix, and the objects that are put there."""

    def __init__(self, system: System, webhook: WebhookServer) -> None:
        self._prefix = f"trouble-{uuid4().hex[:6]}/"
        self._put_at: dict[str, float] = {}
        self._rows: dict[str, float] = {}
        self._system = system
        self._webhook = webhook
        self._arns: dict[str, str] = {}
        self._answers: list[Answer] = []
        self._numbers = count(len(PUTS))

    def add_targets(self) -> None:
        for name in ("silent", "unavailable", "wrong"):
            self._add(name, "webhook", f"endpoint=http://{self._webhook.address}/open/{name}")
        settings = self._system.consumers.postgres.settings(table=TABLE, format="namespace")
        self._add("locked", "postgres", *(f"{key}={text}" for key, text in settings.items()))
        self._system.add_rule("uploads", HEALTHY, "--prefix", self._prefix, event="put")

    def begin_outage(self) -> None:
        """Let one webhook reject all, another take long; and add those, and two that are away."""
        self._answers = [
            Answer(path="/open/hanging", delay=NEVER_SECONDS),
            Answer(path="/open/rejecting", status=422, body="no such album", match=REJECTED),
            Answer(path="/open/slow", delay=SLOW_SECONDS),
        ]
        self.answer("", 0.0)
        with ThreadPoolExecutor(len(OUTAGE)) as pool:
            for name, away in OUTAGE.items():
                address = away or self._webhook.address
                pool.submit(self._add, name, "webhook", f"endpoint=http://{address}/open/{name}")
        assert self._arns.keys() >= OUTAGE.keys()

    def put_next(self) -> None:
        self.put(f"{next(self._numbers)}.jpg")

    @property
    def began(self) -> float:
        """When the first object was put."""
        return min(self._put_at.values())

    def states(self) -> dict[str, str]:
        """What `target ls` says of each, by name."""
        return {name: fare["state"] for name, fare in self.fares().items()}

    def fares(self) -> dict[str, dict[str, Any]]:
        found = {fare["arn"]: fare for fare in self._system.fares().values()}
        return {name: found[arn] for name, arn in self._arns.items()}

    def findings(self) -> dict[str, list[tuple[str, str]]]:
        """What `doctor` finds of each, by name; those of one target come together."""
        found = self._system.bucketcast("doctor", "--json", within=300).document["findings"]
        names = {arn: name for name, arn in self._arns.items()}
        groups = groupby(found, key=lambda finding: finding["subject"])
        every = [
            (names[arn], [(each["check"], each["status"]) for each in group])
            for arn, group in groups
            if arn in names
        ]
        assert len(every) == len(dict(every))
        return dict(every)

    def bury(self, fare: Mapping[str, Any]) -> tuple[str, str]:
        """Put letters into the queue of the one that rejects; return its URL, and a small group."""
        pages = self._system.sqs.get_paginator("list_queues").paginate()
        (queue,) = [
            url
            for page in pages
            for url in page["QueueUrls"]
            if url.endswith("-dead") and f"webhook-{fare['id']}-" in url
        ]
        letters = []
        for number, reason in enumerate([*[ALIKE] * GROUP, *[REASON] * LETTERS]):
            key = f"{self._prefix}old-{number}"
            (event,) = sources.events(message(record(key, number)))
            letters.append(of_event(Delivery("rule", event), History(), "Rejected", reason))
        assert DeadLetters(fare["arn"], Queue(queue, self._system.sqs)).write(letters) == set()
        attributes = letter(letters[0], fare["arn"]).legal_attributes
        return queue, Letter("", "", "", 0, attributes=attributes).group

    def arrived_old(self) -> list[str]:
        """The keys of old events that the one that rejects took since."""
        accepted = self._webhook.accepted("/open/rejecting")
        keys = [json.loads(request.body)["Key"].rpartition("/")[2] for request in accepted]
        return sorted(key for key in keys if key.startswith("old-"))

    def _add(self, name: str, kind: str, *settings: str) -> None:
        id_ = f"{name}-{self._prefix[-7:-1]}"
        ran = self._system.bucketcast("target", "add", f"{kind}:{id_}", *settings, "--json")
        assert ran.code == 0, ran.out
        self._arns[name] = arn = ran.document["arn"]
        rule = ("uploads", arn, "--event", "put", "--prefix", self._prefix)
        assert self._system.bucketcast("event", "add", *rule).code == 0

    def remove_targets(self) -> None:
        with ThreadPoolExecutor(REMOVED_AT_ONCE) as pool:
            list(pool.map(self._remove, self._arns.values()))

    def _remove(self, arn: str) -> None:
        assert self._system.bucketcast("event", "rm", "uploads", arn, "--yes").code == 0
        assert self._system.bucketcast("target", "rm", arn, "--discard", "--yes").code == 0

    def answer(self, silent: str, delay: float) -> None:
        """Let the webhook wait so long before it answers to what the pattern `silent` matches."""
        self._webhook.answer(
            Answer(path="/open/silent", match=silent, delay=delay),
            Answer(path="/open/unavailable", status=503),
            Answer(path="/open/wrong", status=400),
            *self._answers,
        )

    def put(self, name: str) -> None:
        self._put_at[name] = time.time()
        self._system.put("uploads", f"{self._prefix}{name}")

    def start_functions(self) -> None:
        """Put the first objects: how long functions take to start here is nobody's trouble."""
        self._put_all(FIRST)
        self._system.until("they run", self._arrived_silent, lambda seen: seen.keys() >= {*FIRST})
        time.sleep(FIRST_SECONDS)

    def _put_all(self, names: Sequence[str]) -> None:
        began = time.time()
        for number, name in enumerate(names):
            time.sleep(max(0.0, began + number / PUTS_PER_SECOND - time.time()))
            self.put(name)
            if not number % PUTS_PER_ROW:
                self.put(ROW)

    def play(self) -> Seen:
        """Put all objects, wait for those that are late, and return what was seen."""
        self._put_all(PUTS)
        last = time.time()
        while self._is_any_late() and time.time() < last + LATE_SECONDS:
            time.sleep(1)
        ended = time.time()
        return Seen(
            ended - min(self._put_at.values()),
            {
                target: [arrived.get(name, ended) - self._put_at[name] for name in _others(target)]
                for target, arrived in self._arrived().items()
            },
            Counter(each.path.rpartition("/")[2] for each in self._webhook.requests()),
            {name: self._buried(arn) for name, arn in self._arns.items()},
        )

    def _is_any_late(self) -> bool:
        return any(_others(target) - seen.keys() for target, seen in self._arrived().items())

    def _arrived(self) -> dict[str, dict[str, float]]:
        """Return when each object's event arrived at a target that takes some, by target."""
        healthy = self._system.consumers.webhook.accepted()
        return {
            HEALTHY: self._first(healthy),
            "silent": self._arrived_silent(),
            "locked": {**self._rows},
        }

    def _arrived_silent(self) -> dict[str, float]:
        return self._first(self._webhook.accepted("/open/silent"))

    def _first(self, requests: Sequence[Request]) -> dict[str, float]:
        ours = f"uploads/{self._prefix}"
        found: dict[str, float] = {}
        for request in requests:
            if ours.encode() in request.body:  # most are other tests'
                key = json.loads(request.body)["Key"]
                found.setdefault(key.removeprefix(ours), request.at)
        return found

    def _buried(self, arn: str) -> int:
        ran = self._system.bucketcast("dlq", "ls", arn, "--json")
        assert ran.code == 0, ran.err
        return int(ran.document["events"])

    @contextmanager
    def row_locked(self) -> Iterator[None]:
        """Put the object of the row, and lock it as soon as it is there."""
        postgres = self._system.consumers.postgres
        self.put(ROW)
        self._system.until("the row", lambda: postgres.received(TABLE), bool)
        lock = sql.SQL("SELECT FROM {} FOR UPDATE").format(sql.Identifier(TABLE))
        with closing(postgres.connect()) as connection, connection.transaction():
            assert connection.execute(lock).rowcount == 1
            yield

    def note_rows(self) -> None:
        """Note when each row is seen first."""
        seen = self._system.consumers.postgres.received(TABLE)
        now = time.time()
        for row in seen:
            self._rows.setdefault(row.key.rpartition("/")[2], now)


def _others(target: str) -> set[str]:
    """Return the objects whose events are in no trouble at a target."""
    return {*PUTS} - SILENT if target == "silent" else {*PUTS}


@pytest.fixture(scope="module")
def scene(system: System, servers_folder: Path, tls: Tls) -> Iterator[Scene]:
    """Targets in trouble."""
    webhook = start_or_fail("webhook", servers_folder / "e2e" / "trouble", tls)
    assert isinstance(webhook, WebhookServer)
    scene = Scene(system, webhook)
    try:
        scene.answer("", FIRST_SECONDS)
        scene.add_targets()
        yield scene
        scene.remove_targets()
    finally:
        webhook.stop()


@pytest.fixture(scope="module")
def seen(scene: Scene) -> Seen:
    """What was seen of all targets, each in its trouble."""
    with scene.row_locked(), repeated(scene.note_rows, LOOK_SECONDS):
        scene.start_functions()
        scene.answer("|".join(SILENT), NEVER_SECONDS)
        return scene.play()


def test_events_that_get_no_answer_hold_up_no_others(seen: Seen) -> None:
    seen.assert_none_waited("silent")
    assert seen.buried["silent"] == 0


def test_locked_row_holds_up_no_others(seen: Seen) -> None:
    seen.assert_none_waited("locked")
    assert seen.buried["locked"] == 0


def test_webhook_that_answers_503_to_all_is_probed(seen: Seen) -> None:
    assert 0 < seen.tries["unavailable"] <= TRIES_PER_SECOND * seen.seconds
    assert seen.buried["unavailable"] == 0


def test_webhook_that_answers_400_to_all_buries_few(seen: Seen) -> None:
    assert 0 < seen.buried["wrong"] <= MOST_BURIED


@pytest.mark.usefixtures("seen")
def test_what_one_sees_in_an_outage_is_true_and_what_one_does_hits_only_that(
    system: System, scene: Scene
) -> None:
    scene.begin_outage()
    with repeated(scene.put_next, 1 / PUTS_PER_SECOND):
        system.until_equal("their states", scene.states, STATES, within=RETURN_SECONDS)
        fares = scene.fares()
        oldest = datetime.fromisoformat(fares["unavailable"]["oldest"]).timestamp()
        assert oldest <= scene.began + OLDEST_SECONDS, "what has just come hides what waits"
        findings = scene.findings()
        assert ("tcp", "error") in findings["refusing"]
        for name in ("hanging", "rejecting", "unavailable", "wrong"):
            assert ("state", "error") in findings[name]
        assert "error" not in {status for _, status in findings.get("slow", ())}
        name = f"webhook:{fares['rejecting']['id']}"
        dead, group = scene.bury(fares["rejecting"])
        began = time.monotonic()
        listed = system.bucketcast("dlq", "ls", name, "--json").document
        print(f"dlq ls: {time.monotonic() - began:.1f} s")  # noqa: T201 - nothing is required
        assert listed["total"] >= LETTERS
        redrive = ("dlq", "redrive", f"{name}/{group}", "--json")
        assert system.bucketcast(*redrive, within=300).document["events"] == GROUP
        keys = sorted(f"old-{number}" for number in range(GROUP))
        system.until_equal("those alone", scene.arrived_old, keys, within=RETURN_SECONDS)
    assert system.depth(dead) >= LETTERS
