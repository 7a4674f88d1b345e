"""The newest events and what became of them: joined in any order, in bounded memory."""

import msgspec

from bucketcast.console.recent import Recent, Row, Wanted
from bucketcast.delivery.tracing import trace_id
from bucketcast.diagnose.steps import Step
from bucketcast.event import Event
from tests.unit.samples import event

HOOK, MIRROR = "arn:minio:sqs::primary:webhook", "arn:minio:sqs::main:postgresql"


def make(key: str, **more: str) -> Event:
    return event(key, request_id=key, **more)


def step(of: Event, kind: str, target: str = HOOK, at: int = 5, reason: str = "") -> Step:
    return Step(at, trace_id(of), kind, target, reason=reason)


def keys(rows: list[Row]) -> list[str]:
    return [row.entry.event.key for row in rows]


def kinds(row: Row) -> dict[str, str]:
    return {target: step.kind for target, step in row.outcomes.items()}


def test_the_newest_come_first_each_once() -> None:
    recent = Recent()
    for key in ("a", "b", "a", "c"):
        recent.add(make(key), 1)
    assert keys(recent.newest(Wanted(), 2)) == ["c", "b"]
    assert keys(recent.newest(Wanted(), 9)) == ["c", "b", "a"]
    assert recent.number == 3


def test_what_a_target_did_not_get_comes_first() -> None:
    recent = Recent()
    for key in ("waits", "lost", "sent", "new"):
        recent.add(make(key), 1)
    for key, kind in (("waits", "retried"), ("lost", "dead"), ("sent", "delivered")):
        recent.add_steps([step(make(key), kind)])
    assert keys(recent.newest(Wanted(), 3)) == ["lost", "waits", "new"]


def test_an_event_is_found_by_a_part_of_its_key_or_its_id() -> None:
    recent, cat = Recent(), make("photos/Cat.jpg")
    for each in (cat, make("photos/dog.jpg")):
        recent.add(each, 1)
    for text in ("cat", cat.id, cat.id[:12].upper()):
        assert keys(recent.newest(Wanted(text=text), 9)) == ["photos/Cat.jpg"]


def test_steps_join_their_event_whichever_comes_first() -> None:
    recent, cat = Recent(), make("cat")
    recent.add_steps([step(cat, "delivered"), step(cat, "received", "")])
    recent.add(cat, 1)
    recent.add_steps([step(cat, "queued", at=9), step(cat, "retried", MIRROR)])
    (row,) = recent.newest(Wanted(), 9)
    assert kinds(row) == {HOOK: "delivered", MIRROR: "retried"}


def test_the_last_step_counts_and_an_end_is_not_undone() -> None:
    recent, cat = Recent(), make("cat")
    recent.add(cat, 1)
    for kind, at in (("queued", 1), ("retried", 9), ("dead", 7), ("retried", 8)):
        recent.add_steps([step(cat, kind, at=at)])
    assert kinds(recent.newest(Wanted(), 1)[0]) == {HOOK: "dead"}
    recent.add_steps([step(cat, "delivered", at=10)])  # after a redrive
    assert kinds(recent.newest(Wanted(), 1)[0]) == {HOOK: "delivered"}


def test_all_steps_are_kept_once_but_for_those_of_an_endless_outage() -> None:
    recent, cat = Recent(), make("cat")
    recent.add(cat, 1)
    entry = recent.find(cat.id)
    assert entry
    for _ in range(2):
        recent.add_steps([step(cat, "queued"), step(cat, "retried"), step(cat, "delivered")])
    assert [each.kind for each in recent.steps(entry)] == ["queued", "retried", "delivered"]
    recent.add_steps(step(cat, "retried", MIRROR, at) for at in range(99))
    assert [each.at for each in recent.steps(entry)] == list(range(49, 99))


def test_an_event_without_steps_differs_from_one_that_no_rule_matched() -> None:
    recent = Recent()
    for key in ("unread", "unmatched"):
        recent.add(make(key), 1)
    recent.add_steps([step(make("unmatched"), "received", "", reason="no rule matches")])
    rows = recent.newest(Wanted(), 9)
    assert [(row.read, kinds(row)) for row in rows] == [(True, {}), (False, {})]


def test_the_oldest_make_room_by_number_and_by_bytes() -> None:
    recent = Recent(most=3)
    for number in range(10):
        recent.add(make(f"{number}"), 1)
    assert keys(recent.newest(Wanted(), 9)) == ["9", "8", "7"]
    assert recent.find(make("0").id) is None
    large = Recent(most_bytes=100_000)
    for number in range(10):
        record = msgspec.Raw(b'{"x":"' + b"x" * 30_000 + b'"}')
        large.add(event(f"{number}", request_id=f"{number}", stored=record), 1)
    assert keys(large.newest(Wanted(), 9)) == ["9", "8", "7"]


def test_steps_of_unknown_events_make_room() -> None:
    recent = Recent(most=3)
    recent.add_steps(step(make(f"{number}"), "queued") for number in range(10))
    for number in (0, 9):
        recent.add(make(f"{number}"), 1)
    assert [kinds(row) for row in recent.newest(Wanted(), 9)] == [{HOOK: "queued"}, {}]
