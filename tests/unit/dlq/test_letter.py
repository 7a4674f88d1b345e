"""Reading, filtering, counting and repacking of dead letters, without a queue."""

import json
from base64 import b64encode
from dataclasses import replace
from typing import Any

import pytest

from bucketcast.delivery import dead_letters
from bucketcast.delivery.dead_letters import Dead
from bucketcast.delivery.envelope import Delivery, pack, unpack, unwrapped, zstd
from bucketcast.delivery.policy import ATTRIBUTE, History
from bucketcast.dlq.filters import Filter
from bucketcast.dlq.letter import Letter, content, count
from bucketcast.dlq.repack import Plan, plan, repacked, rest
from bucketcast.dlq.summary import MAX_GROUPS, OTHER, Summary
from tests.unit.made import event, message, record

NOW = 1_800_000_000_000
ARN, TOPIC = "arn:minio:sqs::primary:webhook", "arn:aws:sns:us-east-1::mytopic"
WHY = {"reason": "answered 422: no such cat", "error": "Rejected", "rule": "r1"}
TRIED = History(since=NOW - 9_000, tries=7, reason="connection refused", error="NotConnected")

B = event("b", request_id="b").id


def body(*keys: str, **about: Any) -> str:
    (packed,) = pack([Delivery("r1", event(key, request_id=key), **about) for key in keys])
    return packed.body


def letter(text: str, id_: str = "m1", **about: str) -> Letter:
    return Letter(id_, "receipt", text, NOW - 1_000, 3, about or WHY)


def moved(text: str, history: History) -> Letter:
    """What SQS moved by itself, with the history that it had in its queue."""
    attributes = {ATTRIBUTE: history.text} if history.text else {}
    return Letter("m1", "receipt", text, NOW - 5_000, 1_000, attributes, "arn:q")


def ours(text: str, history: History, target: str = ARN) -> Letter:
    """What our functions dead-lettered."""
    sent = dead_letters.letter(Dead(text, history, "Rejected", "no such cat", "r1"), target)
    return Letter("m1", "receipt", sent.body, NOW - 1_000, 1, sent.texts)


def planned(one: Letter, wanted: Filter | None = None, *, ingress: bool = False) -> Plan:
    found = plan(one, wanted or Filter(), NOW, ingress=ingress)
    assert found is not None
    return found


def wrapped(text: str) -> str:
    return json.dumps({"zstd": b64encode(zstd.compress(text.encode())).decode()})


def test_our_dead_letters_have_a_reason() -> None:
    one = letter(body("a"))
    assert (one.moved_by, one.reason, one.error) == ("bucketcast", WHY["reason"], "Rejected")


def test_what_sqs_moved_has_no_reason_but_the_last_failure_of_its_history() -> None:
    one = moved(body("a"), TRIED._replace(topic=TOPIC))
    assert (one.moved_by, one.error, one.history.topic) == ("sqs", "NotConnected", TOPIC)
    assert "no reason recorded; the last known failure: connection refused" in one.reason
    assert moved("hello", History()).reason.endswith("no reason recorded")
    assert moved("hello", History(since=1)).error == ""


def test_what_sqs_redrove_and_moved_again_is_not_said_to_be_ours() -> None:
    one = replace(ours(body("a"), History()), queue_arn="arn:q")
    assert one.moved_by == "sqs"
    assert one.reason.endswith("the last known failure: no such cat")


def test_our_dead_letters_say_since_when_and_how_often_they_were_tried() -> None:
    one = ours(body("a"), TRIED._replace(topic=TOPIC))
    assert (one.history.since, one.history.tries, one.history.topic) == (NOW - 9_000, 7, TOPIC)
    assert (one.reason, one.attribute("target")) == ("no such cat", ARN)


def test_what_eventbridge_could_not_deliver_is_reported_apart() -> None:
    one = letter("{}", ERROR_CODE="NO_PERMISSIONS", ERROR_MESSAGE="not allowed")
    assert (one.moved_by, one.error) == ("eventbridge", "NO_PERMISSIONS")
    assert "not allowed" in one.reason


def test_a_body_that_was_compressed_to_make_room_is_read() -> None:
    text = body("a", "b")
    assert unwrapped(wrapped(text)) == text
    assert count(letter(wrapped(text))) == 2
    assert len(content(letter(wrapped(text)), ingress=False).events) == 2
    broken = json.dumps({"zstd": "AAAA"})
    assert "no envelope" in content(letter(broken), ingress=False).problem


def test_an_envelope_of_a_newer_version_is_left_with_that_reason() -> None:
    newer = json.dumps({"v": 2, "since": 1, "events": []}, separators=(",", ":"))
    for ingress in (True, False):
        assert "version 2" in planned(letter(newer), ingress=ingress).problem


@pytest.mark.parametrize("text", ["hello", "[]", '{"v": 1}', '{"zstd": 5}'])
def test_what_is_no_envelope_is_counted_as_one_and_left(text: str) -> None:
    found = plan(letter(text), Filter(), NOW, ingress=False)
    assert found is not None
    assert found.problem
    assert count(letter(text)) == 1


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


LIVE = TRIED._replace(topic=TOPIC, created=NOW - 7_000, not_before=NOW)
"""The history of a message in its queue."""


@pytest.mark.parametrize("one", [ours(body("a"), LIVE), moved(body("a", reason="no"), LIVE)])
def test_events_get_a_full_term_without_limits_and_keep_their_age_and_topic(one: Letter) -> None:
    (packed,) = repacked([planned(one)], same_target=True).messages
    assert packed.message.history == History(topic=TOPIC, redriven=True)
    (delivery,) = unpack(packed.message.body)
    assert (delivery.created, delivery.reason) == (NOW - 7_000, "")


def test_a_topics_limits_do_not_follow_its_events_to_another_target() -> None:
    plans = [planned(ours(body("a"), LIVE)), planned(moved(body("a"), TRIED))]
    (packed,) = repacked(plans, same_target=False).messages
    assert packed.message.history == History(redriven=True)


def test_events_of_several_letters_share_a_message_if_they_are_of_one_topic() -> None:
    plans = [
        planned(replace(ours(body(f"{n}", created=n), History(topic=topic)), id=f"m{n}"))
        for n, topic in enumerate((TOPIC, "", TOPIC), 1)
    ]
    first, second = repacked(plans, same_target=True).messages
    assert [each.letter.id for each in first.plans] == ["m1", "m3"]
    assert [each.created for each in unpack(first.message.body)] == [1, 3]
    assert (second.message.history.topic, len(second.plans)) == ("", 1)


def test_what_was_moved_before_any_try_counts_from_when_it_was_sent() -> None:
    assert [each.created for each in planned(moved(body("a"), History())).taken] == [NOW - 5_000]


def test_a_fifo_queue_gets_one_event_a_message_with_a_token_that_repeats() -> None:
    whole, part = planned(letter(body("a", "b"))), planned(letter(body("a", "b")), Filter(id=B))
    first = [one.message for one in repacked([whole], same_target=True, most=1).messages]
    (again,) = repacked([part], same_target=True, most=1).messages
    assert len({each.token for each in first}) == 2
    assert again.message.token == first[1].token, "the event's, not that of its place"


def test_the_rest_of_a_letter_is_the_same_letter_with_fewer_events() -> None:
    old = ours(body("a", "b", created=9), LIVE)
    (kept,) = rest(planned(old, Filter(id=B)))
    assert [(each.event.key, each.created) for each in unpack(kept.body)] == [("a", 9)]
    assert kept.texts == old.attributes


def test_the_rest_of_what_sqs_moved_says_so_and_keeps_its_history() -> None:
    old = moved(body("a", "b"), LIVE)
    (kept,) = rest(planned(old, Filter(id=B)))
    again = Letter("m2", "receipt", kept.body, NOW, 1, kept.texts)
    assert (again.reason, again.error) == (old.reason, "NotConnected")
    assert again.history == LIVE._replace(reason="", error="")
    (packed,) = repacked([planned(again)], same_target=True).messages
    assert packed.message.history == History(topic=TOPIC, redriven=True)


@pytest.mark.parametrize("to", [ARN, ""])
def test_an_envelope_of_ingress_is_sent_there_again_to_whom_it_was_addressed(to: str) -> None:
    history = TRIED._replace(to=to, created=NOW - 7_000)
    for one in (ours(body("a", "b"), history, ""), moved(body("a", "b"), history)):
        found = planned(one, Filter(id=B), ingress=True)
        (packed,) = repacked([found], same_target=True).messages
        assert packed.message.history == History(to=to, redriven=True)
        assert [each.created for each in unpack(packed.message.body)] == [NOW - 7_000]
        assert [each.event.key for each in found.left] == ["a"]


@pytest.mark.parametrize("to", [ARN, ""])
def test_a_message_of_a_source_is_sent_to_ingress_as_it_came(to: str) -> None:
    for text in (message(record("a")), "hello"):
        for one, created in (
            (ours(text, History(to=to, created=77), to), 77),
            (moved(text, History(to=to)), NOW - 5_000),
        ):
            (packed,) = repacked([planned(one, ingress=True)], same_target=True).messages
            sent = packed.message
            assert (sent.body, sent.history) == (
                text,
                History(created=created, to=to, redriven=True),
            )


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
