"""An outage as somebody on call sees it: what one sees is true, what one does hits only that."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from bucketcast import sources
from bucketcast.delivery.dead_letters import letter, of_event, write
from bucketcast.delivery.envelope import Delivery
from bucketcast.delivery.policy import History
from bucketcast.delivery.queue import Queue
from bucketcast.dlq.letter import Letter
from tests.e2e.system import RETURN_SECONDS, System, repeated
from tests.servers.receiver import Answer
from tests.servers.webhook import WebhookServer
from tests.unit.samples import message, record

STATES = {
    "refusing": "offline",
    **dict.fromkeys(("hanging", "rejecting", "unavailable"), "failing"),
    "slow": "online",
}
NOWHERE = "127.0.0.1:1"
ANSWERS = (
    Answer(path="/open/hanging", delay=3_600.0),
    # The first is taken: what takes nothing at all would keep its events.
    Answer(path="/open/rejecting", status=422, body="no such album", match=r"/\d\d+\.jpg"),
    Answer(path="/open/unavailable", status=503),
    Answer(path="/open/slow", delay=1.0),
)
PUTS_PER_SECOND = 2
OLDEST = timedelta(seconds=60)
"""So long after its first event a target that takes none is known to be in trouble."""
LETTERS = 990
GROUP = 5
"""Letters whose reason looks like that of the others."""
REASON = "answered 422: no such album"
ALIKE = f"{REASON} title"


@pytest.fixture
def troubled(system: System, prefix: str, receiver: WebhookServer) -> Iterator[Mapping[str, str]]:
    """The ARNs of targets that behave as they are called; each has a rule for the prefix."""
    receiver.answer(*ANSWERS)
    address = receiver.address

    def add(name: str) -> str:
        endpoint = f"endpoint=http://{NOWHERE if name == 'refusing' else address}/open/{name}"
        added = system.bucketcast("target", "add", f"webhook:{name}-{prefix[-7:-1]}", endpoint)
        assert added.code == 0, added.err
        arn = f"arn:minio:sqs::{name}-{prefix[-7:-1]}:webhook"
        rule = ("uploads", arn, "--event", "put", "--prefix", prefix)
        assert system.bucketcast("event", "add", *rule).code == 0
        return arn

    arns = {name: add(name) for name in STATES}
    yield arns
    for arn in arns.values():
        assert system.bucketcast("target", "rm", arn, "--discard", "--rules", "--yes").code == 0


def bury(system: System, fare: Mapping[str, Any]) -> tuple[str, str]:
    """Put letters into a target's queue; return its URL, and the id of a small group of them."""
    pages = system.sqs.get_paginator("list_queues").paginate()
    (queue,) = [
        url
        for page in pages
        for url in page["QueueUrls"]
        if url.endswith("-dead") and f"webhook-{fare['id']}-" in url
    ]
    letters = []
    for number, reason in enumerate([*[ALIKE] * GROUP, *[REASON] * LETTERS]):
        (event,) = sources.events(message(record(f"old-{number}")))
        letters.append(of_event(Delivery("rule", event), History(), "Rejected", reason))
    assert write(letters, Queue(queue, system.sqs), fare["arn"]) == set()
    attributes = letter(letters[0], fare["arn"]).legal_attributes
    return queue, Letter("", "", "", 0, attributes=attributes).group


def redriven(receiver: WebhookServer) -> list[str]:
    """The keys of buried events that arrived at the target since."""
    accepted = receiver.accepted("/open/rejecting")
    keys = [json.loads(request.body)["Key"].rpartition("/")[2] for request in accepted]
    return sorted(key for key in keys if key.startswith("old-"))


def test_what_one_sees_in_an_outage_is_true_and_what_one_does_hits_only_that(
    system: System, prefix: str, troubled: Mapping[str, str], receiver: WebhookServer
) -> None:
    def fares() -> dict[str, Any]:
        found = {fare["arn"]: fare for fare in system.fares().values()}
        return {name: found[arn] for name, arn in troubled.items()}

    numbers, began = count(), datetime.now(UTC)

    def put() -> None:
        system.put("uploads", f"{prefix}{next(numbers)}.jpg")

    put()
    system.until("the first is taken", lambda: receiver.accepted("/open/rejecting"), bool)
    with repeated(put, 1 / PUTS_PER_SECOND):
        system.until_equal(
            "their states",
            lambda: {name: fare["state"] for name, fare in fares().items()},
            STATES,
            within=RETURN_SECONDS,
        )
        oldest = datetime.fromisoformat(fares()["unavailable"]["oldest"])
        assert oldest <= began + OLDEST, "what has just come hides what waits"
        found = system.bucketcast("doctor", "--json", within=300).document["findings"]
        fare = fares()["rejecting"]
        name = f"webhook:{fare['id']}"
        dead, group = bury(system, fare)
        listed = system.bucketcast("dlq", "ls", name, "--json").document
        assert listed["total"] >= LETTERS
        redrive = ("dlq", "redrive", f"{name}/{group}", "--json")
        assert system.bucketcast(*redrive, within=300).document["events"] == GROUP
        keys = sorted(f"old-{number}" for number in range(GROUP))
        system.until_equal("those alone", lambda: redriven(receiver), keys, within=RETURN_SECONDS)
    assert system.depth(dead) >= LETTERS
    errors = {
        name: {
            each["check"] for each in found if (each["subject"], each["status"]) == (arn, "error")
        }
        for name, arn in troubled.items()
    }
    assert "tcp" in errors["refusing"]
    for name in ("hanging", "rejecting", "unavailable"):
        assert "state" in errors[name]
    assert not errors["slow"]
