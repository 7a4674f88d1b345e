"""The parts of `make chaos`: a plan that depends on a seed only, and a judge that finds errors."""

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.chaos.breakage import FUNCTION, INGEST, SERVERS
from tests.chaos.causes import DELIVERED_TWICE, NEVER_ENDED, SENT_TWICE, Traces
from tests.chaos.injected import BUCKET, REFUSED, UNTAKEN
from tests.chaos.judge import Judge, Verdict
from tests.chaos.load import Progress
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


@pytest.fixture(scope="module")
def planned() -> Plan:
    return plan(300, 1, TARGETS, together=5)


def test_a_seed_fixes_the_plan(planned: Plan) -> None:
    assert plan(300, 1, TARGETS, together=5) == planned
    assert plan(300, 2, TARGETS, together=5) != planned


@pytest.mark.parametrize("seed", range(5))
def test_small_plan_has_every_fault_and_every_poison(seed: int) -> None:
    small = plan(300, seed, TARGETS, together=5)
    assert {fault.kind for fault in small.faults} == {*SERVERS, FUNCTION}
    assert {fault.target for fault in small.faults} == {*TARGETS, INGEST}
    assert 2 in small.injected.sent_counts.values(), "some messages are sent twice"
    assert small.injected.dead.keys() == {"webhook.ten", "postgres.ten"}
    assert small.injected.broken.keys() == {"", *TARGETS}
    sent = [each.body for each in small.injected.sends]
    assert all(text in sent for texts in small.injected.broken.values() for text in texts)


def test_empty_and_ended_streams_delay_no_other() -> None:
    progress = Progress({"one": 10, "none": 0, "other": 10})
    progress.end("other")
    progress.add("one", 10)
    assert progress.wait_for(1.0)


def test_failure_of_one_stream_ends_all_waiting() -> None:
    progress = Progress({"one": 10, "other": 10})
    progress.fail()
    progress.add("one", 10)
    assert not progress.wait_for(1.0)
    assert progress.failed


def log_of(planned: Plan) -> list[Arrival]:
    """What a log has that got each injected event once."""
    found = []
    for one in planned.injected.sent_counts:
        record = {
            "eventName": "s3:ObjectCreated:Put",
            "eventTime": "2026-01-02T03:04:05.678Z",
            "responseElements": {"x-amz-request-id": one.request},
            "s3": {"object": {"sequencer": ""}},
        }
        found.append(Arrival(json.dumps({"Key": one.path, "Records": [record]}).encode()))
    return found


def rows_of(planned: Plan) -> list[Arrival]:
    """What a mirror has that shows the model."""
    found = []
    for key, listed_object in listed(planned.injected.bucket).items():
        fields = {
            "versionId": listed_object.version,
            "eTag": listed_object.etag,
            "size": listed_object.size,
        }
        body = json.dumps({"Records": [{"s3": {"object": fields}}]}).encode()
        found.append(Arrival(body, f"{BUCKET}/{key}"))
    return found


def judged(planned: Plan, kind: str, found: list[Arrival], traces: Path) -> Verdict:
    """Return the verdict on one target that has received this, if nothing else happened."""
    judge = Judge(
        planned,
        SimpleNamespace(happened=Counter()),  # type: ignore[arg-type]
        SimpleNamespace(targets={f"{kind}.ten": {"arn": "arn"}}),  # type: ignore[arg-type]
        SimpleNamespace(mirrors=[MIRROR]),  # type: ignore[arg-type]
        ("uploads", "p/"),
        Traces(traces),
    )
    if kind == MIRROR:
        judge.check_mirror(kind, found, {})
    else:
        judge.check_log(kind, found)
    return judge.verdict


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    file = tmp_path / "log"
    file.touch()
    return file


def test_complete_log_and_correct_mirror_are_good(planned: Plan, traces: Path) -> None:
    assert judged(planned, LOG, log_of(planned), traces).good
    assert judged(planned, MIRROR, rows_of(planned), traces).good


def test_event_missing_from_a_log_is_lost(planned: Plan, traces: Path) -> None:
    missing, *others = log_of(planned)
    verdict = judged(planned, LOG, others, traces)
    assert verdict.lost == {"kafka.ten": [str(next(iter(planned.injected.sent_counts)))]}
    assert json.loads(missing.body)["Key"] in verdict.lost["kafka.ten"][0]


def test_event_that_never_happened_is_wrong(planned: Plan, traces: Path) -> None:
    found = log_of(planned)
    invented: Any = json.loads(found[0].body)
    invented["Records"][0]["responseElements"]["x-amz-request-id"] = "invented"
    verdict = judged(planned, LOG, [*found, Arrival(json.dumps(invented).encode())], traces)
    assert len(verdict.wrong["kafka.ten"]) == 1
    assert not verdict.good


def test_missing_stale_and_extra_rows_are_reported(planned: Plan, traces: Path) -> None:
    _, second, *others = rows_of(planned)
    stale: Any = json.loads(second.body)
    stale["Records"][0]["s3"]["object"]["size"] = 99
    rows = [Arrival(json.dumps(stale).encode(), second.key), Arrival(second.body, f"{BUCKET}/gone")]
    verdict = judged(planned, MIRROR, [*rows, *others], traces)
    assert len(verdict.lost["redis.ten"]) == 1
    assert len(verdict.wrong["redis.ten"]) == 2


def test_poison_must_be_dead_lettered_and_not_delivered(planned: Plan, traces: Path) -> None:
    found = log_of(planned)
    poison = f"{BUCKET}/{REFUSED}"
    taken = [each for each in found if not json.loads(each.body)["Key"].startswith(poison)]
    assert judged(planned, "webhook", taken, traces).good
    assert not judged(planned, "webhook", found, traces).good
    rows = [each for each in rows_of(planned) if f"/{UNTAKEN}" not in each.key]
    assert not judged(planned, MIRROR, rows, traces).good


def test_repeat_is_attributed_to_its_cause(tmp_path: Path) -> None:
    printed = [
        {"trace": "dispatched", "target": "arn", "delivered": "a@1 b@1"},
        {"trace": "dispatched", "target": "arn", "delivered": "b@1"},
        {"trace": "dispatched", "target": "arn", "retried": {"reset by 127.0.0.1:9 at 7": "a@1"}},
    ]
    file = tmp_path / "log"
    lines = [json.dumps(each, separators=(",", ":")) for each in printed]
    file.write_text("\n".join(["INFO output:", *lines, "INFO"]))
    traces = Traces(file)
    assert list(traces.causes("arn", "a@1", 2, 2)) == [SENT_TWICE]
    assert list(traces.causes("arn", "b@1", 2, 1)) == [DELIVERED_TWICE]
    (why,) = traces.causes("arn", "a@1", 2, 1)
    assert "reset by … at …" in why
    assert list(traces.causes("arn", "c@1", 3, 1)) == [NEVER_ENDED] * 2
