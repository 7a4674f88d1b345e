"""Reading, filtering, counting and repacking of dead letters, without a queue."""

import json
from base64 import b64encode
from typing import Any

import pytest

from bucketcast.delivery.envelope import Delivery, Envelope, pack, seal, unpack, unwrapped, zstd
from bucketcast.dlq.filters import Filter
from bucketcast.dlq.letter import Letter, content, count
from bucketcast.dlq.repack import plan, repacked
from bucketcast.dlq.summary import MAX_GROUPS, OTHER, Summary
from bucketcast.queues import dead_letter
from tests.unit.made import event, message, record

NOW = 1_800_000_000_000
WHY = {"reason": "answered 422: no such cat", "error": "Rejected", "rule": "r1"}


def body(*keys: str, **about: Any) -> str:
    deliveries = [Delivery("r1", event(key, request_id=key)) for key in keys]
    (packed,) = pack(deliveries, NOW - 5_000, history=Envelope(0, attempts=7, **about))
    return packed.body


def letter(text: str, id_: str = "m1", **about: str) -> Letter:
    return Letter(id_, "receipt", text, NOW - 1_000, 3, about or WHY)


def wrapped(text: str) -> str:
    return json.dumps({"zstd": b64encode(zstd.compress(text.encode())).decode()})


def test_our_dead_letters_have_a_reason() -> None:
    one = letter(body("a"))
    assert (one.moved_by, one.reason, one.error) == ("bucketcast", WHY["reason"], "Rejected")


def test_what_sqs_moved_has_no_reason_but_the_last_failure_in_its_envelope() -> None:
    one = Letter("m", "r", body("a", reason="connection refused"), NOW, 1_000, {}, "arn:q")
    assert one.moved_by == "sqs"
    assert "no reason recorded; the last known failure: connection refused" in one.reason
    assert "no reason recorded" in Letter("m", "r", "hello", NOW, 1_000, {}).reason


def test_what_eventbridge_could_not_deliver_is_reported_apart() -> None:
    one = letter("{}", ERROR_CODE="NO_PERMISSIONS", ERROR_MESSAGE="not allowed")
    assert (one.moved_by, one.error) == ("eventbridge", "NO_PERMISSIONS")
    assert "not allowed" in one.reason


def test_a_body_that_was_compressed_to_make_room_is_read() -> None:
    text = body("a", "b")
    assert unwrapped(wrapped(text)) == text
    assert count(letter(wrapped(text)), ingress=False) == 2
    assert len(content(letter(wrapped(text)), ingress=False).events) == 2
    broken = json.dumps({"zstd": "AAAA"})
    assert "no envelope" in content(letter(broken), ingress=False).problem


def test_an_envelope_of_a_newer_version_is_left_with_that_reason() -> None:
    newer = json.dumps({"v": 2, "since": 1, "events": []})
    found = plan(letter(newer), Filter(), NOW, ingress=False)
    assert found is not None
    assert "version 2" in found.problem


@pytest.mark.parametrize("text", ["hello", "[]", '{"v": 1}', '{"zstd": 5}'])
def test_what_is_no_envelope_is_counted_as_one_and_left(text: str) -> None:
    found = plan(letter(text), Filter(), NOW, ingress=False)
    assert found is not None
    assert found.problem
    assert count(letter(text), ingress=False) == 1


def test_a_letter_that_was_cut_cannot_be_sent() -> None:
    found = plan(letter("abc", **WHY, cut="this is the beginning"), Filter(), NOW, ingress=False)
    assert found is not None
    assert "cut" in found.problem


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [
        (Filter(), ["in/a", "out/b"]),
        (Filter(prefix="in/"), ["in/a"]),
        (Filter(names=("s3:ObjectCreated:*",)), ["in/a", "out/b"]),
        (Filter(names=("s3:ObjectRemoved:*",)), None),
        (Filter(bucket="other"), None),
        (Filter(rule="r1", prefix="out/"), ["out/b"]),
        (Filter(rule="r2"), None),
        (Filter(reason="NO SUCH"), ["in/a", "out/b"]),
        (Filter(reason="timeout"), None),
        (Filter(error="Rejected"), ["in/a", "out/b"]),
        (Filter(error="Reject"), None),
        (Filter(older=2), None),
        (Filter(older=1), ["in/a", "out/b"]),
        (Filter(newer=0.5), None),
        (Filter(id="m1"), ["in/a", "out/b"]),
        (Filter(id="m1", prefix="in/"), ["in/a"]),
        (Filter(id=event("in/a", request_id="in/a").id), ["in/a"]),
        (Filter(id="m2"), None),
    ],
)
def test_a_filter_chooses_events(wanted: Filter, keys: list[str] | None) -> None:
    found = plan(letter(body("in/a", "out/b")), wanted, NOW, ingress=False)
    assert (found and [each.event.key for each in found.taken]) == keys


def test_events_are_sent_with_a_full_term_and_their_age_kept() -> None:
    plans = [
        found
        for number in range(3)
        if (found := plan(letter(body(f"{number}"), f"m{number}"), Filter(), NOW, ingress=False))
    ]
    (packed,) = repacked(plans, NOW, same_target=True, single=False).messages
    envelope, deliveries = unpack(packed.body)
    assert (envelope.since, envelope.attempts, envelope.reason) == (NOW, 0, "")
    assert [each.created for each in deliveries] == [NOW - 5_000] * 3
    assert [each.letter.id for each in packed.plans] == ["m0", "m1", "m2"]


def test_a_fifo_queue_gets_one_event_a_message_with_a_token_that_repeats() -> None:
    found = plan(letter(body("a", "b")), Filter(), NOW, ingress=False)
    assert found is not None
    first = repacked([found], NOW, same_target=True, single=True).messages
    again = repacked([found], NOW + 9, same_target=True, single=True).messages
    assert [each.token for each in first] == ["m1-0", "m1-1"] == [each.token for each in again]


def test_a_topics_limits_do_not_follow_its_events_to_another_target() -> None:
    found = plan(letter(body("a", topic="arn:aws:sns:::t")), Filter(), NOW, ingress=False)
    assert found is not None
    for same, topic in ((True, "arn:aws:sns:::t"), (False, "")):
        (packed,) = repacked([found], NOW, same_target=same, single=False).messages
        assert seal(packed.body).topic == topic


def test_a_message_of_ingress_is_redriven_whole_even_if_unreadable() -> None:
    good = letter(message(record("in/a"), record("b")))
    found = plan(good, Filter(prefix="in/"), NOW, ingress=True)
    assert found is not None
    assert len(found.content.events) == 2
    assert plan(good, Filter(prefix="x/"), NOW, ingress=True) is None
    bad = plan(letter("hello"), Filter(), NOW, ingress=True)
    assert bad is not None
    assert not bad.problem


def test_reasons_that_differ_in_numbers_are_one_group_and_groups_are_bounded() -> None:
    summary = Summary()
    for number in range(5):
        why = f"row {number}: given up after 13 days and {number}40 tries"
        summary.add(letter("", reason=why, error="NotConnected"), "t", 2)
    (group,) = summary.groups()
    assert (group.messages, group.events) == (5, 10)
    for number in range(MAX_GROUPS + 50):
        name = "".join(chr(103 + int(digit)) for digit in str(number))
        summary.add(letter("", reason=f"no {name}"), "t", 1)
    groups = list(summary.groups())
    assert len(groups) == MAX_GROUPS + 1
    assert sum(each.events for each in groups) == 10 + MAX_GROUPS + 50 == summary.events
    assert [each.messages for each in groups if each.reason == OTHER] == [51]


def test_a_dead_letter_made_by_queues_is_read() -> None:
    buried = dead_letter(body("a"), "no", target="arn:minio:sqs::primary:webhook", error="Rejected")
    one = Letter("m", "r", buried.body, NOW, 1, buried.attributes or {})
    assert (one.reason, one.attribute("target")) == ("no", "arn:minio:sqs::primary:webhook")
