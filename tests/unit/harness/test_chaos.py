"""The parts of `make chaos`: a plan that depends on a seed only, and a judge that finds errors."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tests.chaos.injected import BUCKET, REFUSED, UNTAKEN
from tests.chaos.judge import Judge, Verdict
from tests.chaos.log import Log
from tests.chaos.plan import Plan, plan
from tests.contract.bucket_listing import listed
from tests.servers import Arrival

TARGETS = [
    f"{kind}.ten"
    for kind in (
        *("amqp", "elasticsearch", "kafka", "mqtt", "mysql"),
        *("nats", "nsq", "postgres", "redis", "webhook"),
    )
]
LOG, MIRROR = "kafka", "redis"
PUT, DELETE = "s3:ObjectCreated:Put", "s3:ObjectRemoved:Delete"
HAPPENED = [(PUT, "uploads/p/kept"), (PUT, "uploads/p/kept"), (PUT, "uploads/p/gone")]
HAPPENED += [(DELETE, "uploads/p/gone")]
LISTING = {"uploads/p/kept": (1, "etag 1")}
"""What is left of it."""


@pytest.fixture(scope="module")
def planned() -> Plan:
    return plan(300, 1, TARGETS, together=5)


def log_of(planned: Plan) -> list[Arrival]:
    """What a log has that got each event once."""
    found = []
    for one in planned.injected.sent_counts:
        name, version, etag, size = planned.injected.shown[one]
        s3_object = {"versionId": version, "eTag": etag, "size": size}
        found.append(arrival(name, one.path, s3_object, one.request))
    for number, (name, path) in enumerate(HAPPENED):
        of_object = {"eTag": f"etag {number}", "size": number} if name == PUT else {}
        found.append(arrival(name, path, {**of_object, "sequencer": f"{number:018X}"}))
    return found


def arrival(name: str, path: str, s3_object: dict[str, Any], request: str = "") -> Arrival:
    record = {
        "eventName": name,
        "eventTime": "2026-01-02T03:04:05.678Z",
        "responseElements": {"x-amz-request-id": request},
        "s3": {"object": s3_object},
    }
    return Arrival(json.dumps({"EventName": name, "Key": path, "Records": [record]}).encode())


def changed(one: Arrival, change: Callable[[Any], object]) -> Arrival:
    document = json.loads(one.body)
    change(document)
    return Arrival(json.dumps(document).encode(), one.key)


def rows_of(planned: Plan) -> list[Arrival]:
    """What a mirror has that shows the model and the real bucket."""
    rows = {
        f"{BUCKET}/{key}": {"versionId": one.version, "eTag": one.etag, "size": one.size}
        for key, one in listed(planned.injected.bucket).items()
    }
    for path, (size, etag) in LISTING.items():
        rows[path] = {"eTag": etag, "size": size, "sequencer": ""}
    return [replace(arrival(PUT, path, one), key=path) for path, one in rows.items()]


def judged(planned: Plan, kind: str, found: list[Arrival]) -> Verdict:
    """Return the verdict on one target that has received this, if nothing else happened."""
    judge = Judge(
        planned,
        SimpleNamespace(happened=Counter(HAPPENED)),  # type: ignore[arg-type]
        SimpleNamespace(targets={f"{kind}.ten": {"arn": "arn"}}),  # type: ignore[arg-type]
        SimpleNamespace(mirrors=[MIRROR]),  # type: ignore[arg-type]
        ("uploads", "p/"),
    )
    if kind == MIRROR:
        judge.check_mirror(kind, found, LISTING)
    else:
        judge.check_log(kind, Log(found, "uploads/p/"), LISTING)
    return judge.verdict


def test_complete_log_and_correct_mirror_are_good(planned: Plan) -> None:
    assert judged(planned, LOG, log_of(planned)).good
    assert judged(planned, MIRROR, rows_of(planned)).good


def test_event_missing_from_a_log_is_lost(planned: Plan) -> None:
    first, *others, last = log_of(planned)
    verdict = judged(planned, LOG, others)
    request = json.loads(first.body)["Records"][0]["responseElements"]["x-amz-request-id"]
    assert [text for text in verdict.lost["kafka.ten"] if request in text]
    assert [text for text in verdict.lost["kafka.ten"] if DELETE in text]
    assert len(verdict.lost["kafka.ten"]) == 2
    assert len(judged(planned, LOG, []).lost["kafka.ten"]) == len([*others, first, last])


def test_event_that_never_happened_is_wrong(planned: Plan) -> None:
    found = log_of(planned)

    def invent(document: Any) -> None:
        document["Records"][0]["responseElements"]["x-amz-request-id"] = "invented"

    verdict = judged(planned, LOG, [*found, changed(found[0], invent)])
    assert len(verdict.wrong["kafka.ten"]) == 1


def _of_another_size(document: Any) -> None:
    document["Records"][0]["s3"]["object"]["size"] = 99


def test_missing_stale_and_extra_rows_are_reported(planned: Plan) -> None:
    _, second, *others, real = rows_of(planned)
    stale = changed(second, _of_another_size)
    extra = replace(second, key=f"{BUCKET}/gone")
    verdict = judged(planned, MIRROR, [stale, extra, *others])
    assert len(verdict.lost["redis.ten"]) == 2, "one of the model, one of the real bucket"
    assert len(verdict.wrong["redis.ten"]) == 2
    stale, extra = changed(real, _of_another_size), replace(real, key="uploads/p/gone")
    verdict = judged(planned, MIRROR, [*rows_of(planned)[:-1], stale, extra])
    assert len(verdict.wrong["redis.ten"]) == 2


def test_poison_must_be_dead_lettered_and_not_delivered(planned: Plan) -> None:
    found = log_of(planned)
    poison = f"{BUCKET}/{REFUSED}"
    taken = [each for each in found if not json.loads(each.body)["Key"].startswith(poison)]
    assert judged(planned, "webhook", taken).good
    assert not judged(planned, "webhook", found).good
    rows = [each for each in rows_of(planned) if f"/{UNTAKEN}" not in each.key]
    assert not judged(planned, MIRROR, rows).good
