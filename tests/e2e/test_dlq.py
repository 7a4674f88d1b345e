"""Bad events among many: the others arrive, `dlq` shows the reason and redrives them."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

from tests.e2e.arrivals import posted
from tests.e2e.records import message, record
from tests.e2e.system import RETURN_SECONDS, System
from tests.servers.receiver import Answer

EVENTS = 200
POISON = range(7, EVENTS, 20)
ARN = "webhook.flaky"
SOME = 60
LOOK_SECONDS = 20.0
"""For a second of reading, and what a command takes on a machine that is busy."""


def test_dead_letter_is_listed_shown_and_redriven(
    system: System, prefix: str, rule: Callable[..., None]
) -> None:
    flaky = system.consumers.flaky
    rule(ARN)
    arn, dead = system.targets[ARN]["arn"], system.targets[ARN]["dead"]
    names = [
        f"{prefix}{'bad' if number in POISON else 'good'}-{number}.jpg" for number in range(EVENTS)
    ]
    records = [record(name, number) for number, name in enumerate(names)]
    good = Counter(f"uploads/{name}" for name in names if "good-" in name)
    poison = {name for name in names if "bad-" in name}

    def arrived() -> Counter[str]:
        return Counter(each.key for each in posted(flaky, f"uploads/{prefix}"))

    flaky.answer(Answer(status=422, body="no such cat", match=f"{prefix}bad-"))
    try:
        system.send(
            system.ingress, [message(*records[at : at + 50]) for at in range(0, EVENTS, 50)]
        )
        system.until_equal("each neighbour once", arrived, good, within=RETURN_SECONDS)
        system.until_equal("the poison", lambda: system.depth(dead), len(poison))
        listed = system.bucketcast("dlq", "ls", arn, "--prefix", prefix, "--json").document
        (group,) = listed["reasons"]
        assert "answered 422: no such cat" in group["reason"]
        assert (group["error"], group["events"]) == ("Rejected", len(poison))
        (letters,) = system.bucketcast(
            "dlq", "show", arn, "--id", group["example"], "--json"
        ).document["dead_letters"]
        (event,) = letters["events"]
        assert event["key"] in poison
        assert json.loads(event["body"])["Key"] == f"uploads/{event['key']}"
        again = system.bucketcast("dlq", "redrive", arn, "--limit", "1", "--json").document
        assert again["events"] == 1
        system.until_equal("it is back", lambda: system.depth(dead), len(poison))
    finally:
        flaky.answer()
    dry = system.bucketcast("dlq", "redrive", arn, "--dry-run", "--json").document
    assert dry["events"] == len(poison)
    result = system.bucketcast("dlq", "redrive", arn, "--rate", "100", "--json").document
    assert (result["events"], result["failed"], result["unusable"]) == (len(poison), {}, {})
    everything = good + Counter(f"uploads/{name}" for name in poison)
    system.until_equal("all of them, once", arrived, everything, within=RETURN_SECONDS)
    assert system.depth(dead) == 0


def test_groups_are_handled_apart_while_a_target_keeps_rejecting(
    system: System, prefix: str, rule: Callable[..., None], tmp_path: Path
) -> None:
    flaky, arn = system.consumers.flaky, system.targets[ARN]["arn"]
    rule(ARN)
    album = Answer(status=422, body="no such album: 1", match=f"{prefix}album-")
    title = Answer(status=422, body="no such album title", match=f"{prefix}title-")
    flaky.answer(album, title)
    sent: list[str] = []
    ended = Event()

    def send() -> None:
        while not ended.wait(0.2):
            names = [
                f"{prefix}{what}-{len(sent)}.jpg" for what in ("album", "title", *["good"] * 8)
            ]
            system.send(system.ingress, [message(*(record(name, len(sent)) for name in names))])
            sent.extend(names[:2])

    def groups() -> dict[str, dict[str, Any]]:
        began = time.monotonic()
        listed = system.bucketcast("dlq", "ls", arn, "--json").document
        assert time.monotonic() - began < LOOK_SECONDS
        return {group["reason"].partition(": ")[2]: group for group in listed["reasons"]}

    def act(what: str, group: Mapping[str, Any], *more: str) -> dict[str, Any]:
        name = f"webhook:flaky/{group['id']}"
        ran = system.bucketcast("dlq", what, name, *more, "--json")
        assert ran.code == 0, ran.err
        document: dict[str, Any] = ran.document
        return document

    file = tmp_path / "albums"
    with rejecting(send, ended):
        dead = system.targets[ARN]["dead"]
        system.until("some are dead", lambda: system.depth(dead), lambda depth: depth >= SOME)
        found = groups()
        (shown,) = act("show", found[title.body])["dead_letters"]
        assert f"{prefix}title-" in shown["events"][0]["key"]
        purged = act("purge", found[album.body], "--file", str(file), "--yes")
        assert purged["events"] >= found[album.body]["events"]
        flaky.answer(album)
        assert act("redrive", found[title.body])["events"] >= found[title.body]["events"]
    titles = {f"uploads/{name}" for name in sent if "/title-" in name}

    def arrived() -> Counter[str]:
        act("redrive", found[title.body])
        posts = posted(flaky, f"uploads/{prefix}")
        return Counter(each.key for each in posts if "/good-" not in each.key)

    system.until_equal("the titles, once", arrived, Counter(titles), within=RETURN_SECONDS)
    system.until_settled(within=RETURN_SECONDS)
    flaky.answer()
    albums = [json.loads(line)["events"][0]["key"] for line in file.read_text().splitlines()]
    assert len(albums) == purged["events"]
    rest = act("redrive", found[album.body])["events"]
    assert system.depth(dead) == 0
    assert {f"uploads/{name}" for name in sent} - titles >= {f"uploads/{key}" for key in albums}
    assert len(albums) + rest == len(sent) - len(titles)


@contextmanager
def rejecting(send: Callable[[], None], ended: Event) -> Iterator[None]:
    """Send events that are rejected, until it is over."""
    thread = Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
