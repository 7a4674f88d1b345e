"""Reading, filtering, counting and repacking of dead letters, without a queue."""

import json
from base64 import b64encode
from dataclasses import replace
from typing import Any

import pytest
from click import BadParameter

from bucketcast.delivery import dead_letters
from bucketcast.delivery.compression import compress
from bucketcast.delivery.dead_letters import Dead, unwrap
from bucketcast.delivery.envelope import Delivery, pack, unpack
from bucketcast.delivery.policy import ATTRIBUTE, History
from bucketcast.delivery.queue import Outgoing
from bucketcast.dlq.aws import reader
from bucketcast.dlq.command.options import chosen
from bucketcast.dlq.filters import Filter
from bucketcast.dlq.letter import Letter, count_events, read_content
from bucketcast.dlq.repack import Plan, limit_events, make_plan, remaining_messages, repack
from bucketcast.dlq.summary import MAX_GROUPS, OTHER, Summary
from tests.unit.samples import event, message, record

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
    attributes = {ATTRIBUTE: history.json} if history.json else {}
    return Letter("m1", "receipt", text, NOW - 5_000, 1_000, attributes, "arn:q")


def ours(text: str, history: History, target: str = ARN) -> Letter:
    """What our functions dead-lettered."""
    sent = dead_letters.letter(Dead(text, history, "Rejected", "no such cat", "r1"), target)
    return Letter("m1", "receipt", sent.body, NOW - 1_000, 1, sent.legal_attributes)


def planned(letter_: Letter, wanted: Filter | None = None, *, ingress: bool = False) -> Plan:
    plan = make_plan(letter_, wanted or Filter(), ingress=ingress)
    assert plan is not None
    return plan


def wrapped(text: str) -> str:
    return json.dumps({"zstd": b64encode(compress(text.encode())).decode()})


def test_message_moved_by_sqs_before_a_failure_has_no_reason() -> None:
    assert moved("hello", History()).reason.endswith("no reason recorded")
    assert moved("hello", History(since=1)).error == ""


def test_message_moved_by_sqs_again_is_not_ours() -> None:
    letter_ = replace(ours(body("a"), History()), queue_arn="arn:q")
    assert letter_.moved_by == "sqs"
    assert letter_.reason.endswith("the last known failure: no such cat")


def test_message_moved_by_eventbridge_has_its_error() -> None:
    letter_ = letter("{}", ERROR_CODE="NO_PERMISSIONS", ERROR_MESSAGE="not allowed")
    assert (letter_.moved_by, letter_.error) == ("eventbridge", "NO_PERMISSIONS")
    assert "not allowed" in letter_.reason


def test_compressed_body_is_read() -> None:
    text = body("a", "b")
    assert unwrap(wrapped(text)) == text
    assert count_events(letter(wrapped(text))) == 2
    assert len(read_content(letter(wrapped(text)), ingress=False).events) == 2
    broken = json.dumps({"zstd": "AAAA"})
    assert "is broken" in read_content(letter(broken), ingress=False).problem


def test_envelope_of_a_newer_version_stays_with_that_problem() -> None:
    newer = json.dumps({"v": 2, "since": 1, "events": []}, separators=(",", ":"))
    for ingress in (True, False):
        assert "version 2" in planned(letter(newer), ingress=ingress).problem


@pytest.mark.parametrize("text", ["hello", "[]", '{"v": 1}', '{"zstd": 5}'])
def test_message_that_is_no_envelope_counts_as_one_and_stays(text: str) -> None:
    assert planned(letter(text)).problem
    assert count_events(letter(text)) == 1


def test_cut_letter_cannot_be_sent() -> None:
    assert "cut" in planned(letter("abc", **WHY, cut="this is the beginning")).problem


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [
        (Filter(), ["in/a", "out/b"]),
        (Filter(prefix="in/"), ["in/a"]),
        (Filter(bucket="other"), None),
        (Filter(reason="NO SUCH"), ["in/a", "out/b"]),
        (Filter(reason="timeout"), None),
        (Filter(ids=("m1",)), ["in/a", "out/b"]),
        (Filter(ids=("m1",), prefix="in/"), ["in/a"]),
        (Filter(ids=("m0", event("in/a", request_id="in/a").id)), ["in/a"]),
        (Filter(ids=("m2",)), None),
    ],
)
def test_a_filter_chooses_events(wanted: Filter, keys: list[str] | None) -> None:
    plan = make_plan(letter(body("in/a", "out/b")), wanted, ingress=False)
    assert (plan and [each.event.key for each in plan.chosen]) == keys


LIVE = TRIED._replace(topic=TOPIC, created=NOW - 7_000, not_before=NOW)
"""The history of a message in its queue."""


@pytest.mark.parametrize("letter_", [ours(body("a"), LIVE), moved(body("a", reason="no"), LIVE)])
def test_redriven_events_get_a_full_term_and_keep_their_age_and_topic(letter_: Letter) -> None:
    (packed,) = repack([planned(letter_)], same_target=True)
    assert packed.message.history == History(topic=TOPIC, redriven=True)
    (delivery,) = unpack(packed.message.body)
    assert (delivery.created, delivery.reason) == (NOW - 7_000, "")


def test_events_sent_to_another_target_lose_their_topic() -> None:
    plans = [planned(ours(body("a"), LIVE)), planned(moved(body("a"), TRIED))]
    (packed,) = repack(plans, same_target=False)
    assert packed.message.history == History(redriven=True)


def test_events_of_several_letters_of_one_topic_share_a_message() -> None:
    plans = [
        planned(replace(ours(body(f"{n}", created=n), History(topic=topic)), id=f"m{n}"))
        for n, topic in enumerate((TOPIC, "", TOPIC), 1)
    ]
    first, second = repack(plans, same_target=True)
    assert [each.letter.id for each in first.plans] == ["m1", "m3"]
    assert [each.created for each in unpack(first.message.body)] == [1, 3]
    assert (second.message.history.topic, len(second.plans)) == ("", 1)


def test_message_moved_before_any_attempt_was_created_when_sent() -> None:
    assert [each.created for each in planned(moved(body("a"), History())).chosen] == [NOW - 5_000]


def test_fifo_queue_gets_one_event_a_message_with_a_stable_token() -> None:
    whole, part = planned(letter(body("a", "b"))), planned(letter(body("a", "b")), Filter(ids=(B,)))
    first = [letter_.message for letter_ in repack([whole], same_target=True, most=1)]
    (again,) = repack([part], same_target=True, most=1)
    assert len({each.token for each in first}) == 2
    assert again.message.token == first[1].token, "the event's, not that of its place"
    once_more = repack([planned(replace(whole.letter, id="m2"))], same_target=True, most=1)
    assert once_more[0].message.token != first[0].token, "dead-lettered twice"


@pytest.mark.parametrize("make", [ours, moved])
def test_remaining_events_are_the_same_letter_however_often_it_is_split(make: Any) -> None:
    old = rest = make(body("a", "b", "c", created=9), LIVE)
    for left in ("bc", "c"):
        (message_,) = remaining_messages(limit_events(planned(rest), 1))
        rest = reader.letter(received(message_))
        assert "".join(each.event.key for each in unpack(rest.body)) == left
        for name in ("group", "sent", "moved_by", "queue_arn", "reason", "error", "history"):
            assert getattr(rest, name) == getattr(old, name), name
    (packed,) = repack([planned(rest)], same_target=True)
    assert packed.message.history == History(topic=TOPIC, redriven=True)


def received(sent: Outgoing) -> Any:
    """Return a message as SQS gives it, now."""
    attributes = {name: {"StringValue": text} for name, text in sent.legal_attributes.items()}
    return {
        "MessageId": "m2",
        "ReceiptHandle": "receipt",
        "Body": sent.body,
        "Attributes": {"SentTimestamp": str(NOW)},
        "MessageAttributes": attributes,
    }


@pytest.mark.parametrize("to", [ARN, ""])
def test_ingress_envelope_keeps_its_destination(to: str) -> None:
    history = TRIED._replace(to=to, created=NOW - 7_000)
    for letter_ in (ours(body("a", "b"), history, ""), moved(body("a", "b"), history)):
        plan = planned(letter_, Filter(ids=(B,)), ingress=True)
        (packed,) = repack([plan], same_target=True)
        assert packed.message.history == History(to=to, redriven=True)
        assert [each.created for each in unpack(packed.message.body)] == [NOW - 7_000]
        assert [each.event.key for each in plan.remaining] == ["a"]


@pytest.mark.parametrize("to", [ARN, ""])
def test_message_of_a_source_is_sent_to_ingress_unchanged(to: str) -> None:
    for text in (message(record("a")), "hello"):
        for letter_, created in (
            (ours(text, History(to=to, created=77), to), 77),
            (moved(text, History(to=to)), NOW - 5_000),
        ):
            (packed,) = repack([planned(letter_, ingress=True)], same_target=True)
            sent = packed.message
            assert (sent.body, sent.history) == (
                text,
                History(created=created, to=to, redriven=True),
            )


def test_ingress_message_is_redriven_whole_even_if_unreadable() -> None:
    good = letter(message(record("in/a"), record("b")))
    assert len(planned(good, Filter(prefix="in/"), ingress=True).content.events) == 2
    assert make_plan(good, Filter(prefix="x/"), ingress=True) is None
    assert not planned(letter("hello"), ingress=True).problem


@pytest.mark.parametrize(
    "reason",
    [
        "http://h answered 422: no album #",
        'http://h answered 422: {"id":#,"n": #}',
        "http://h answered 503: row #. (given up after # days and # tries)",
        "http://h answered 503 (given up after # days and # tries)",
        "refused (given up after # days and # tries)",
        "the event takes # bytes",
    ],
)
def test_numbers_of_events_are_not_in_the_way_of_a_group(reason: str) -> None:
    assert len(groups_of(reason)) == 1


@pytest.mark.parametrize(
    "reason",
    [
        "http://h answered #",
        "http://h answered #: bad key 7",
        "http://h:# answered 422: no",
        'http://h answered 422: {"errorCode": #}',
        "http://h answered 422: HTTP/1.1 # from h",
        "http://h answered 422: no orders-#",
        'http://h answered 422: no "#"',
        "http://h answered 422: 10.0.0.# is down",
        "host 10.0.0.#: refused",
        "topic orders-# does not exist",
        "no table deadbeef#",
        "out of range (22#)",
    ],
)
def test_numbers_that_tell_causes_apart_are_in_different_groups(reason: str) -> None:
    assert len(groups_of(reason)) == 2


def groups_of(reason: str) -> set[str]:
    """The groups of a reason with either number."""
    return {letter("", reason=reason.replace("#", number)).group for number in ("413", "2024")}


def test_groups_beyond_the_largest_number_are_counted_and_have_no_name_for_commands() -> None:
    summary = Summary()
    for number in range(MAX_GROUPS + 50):
        summary.add(letter("", reason=f"no {number}"), ARN, 1)
    groups = list(summary.groups())
    assert len(groups) == MAX_GROUPS + 1
    assert sum(each.events for each in groups) == MAX_GROUPS + 50 == summary.events
    (rest,) = (each for each in groups if each.reason == OTHER)
    assert rest.messages == 50
    for name in (rest.name, f"{rest.target}/{rest.id}"):
        with pytest.raises(BadParameter, match="is no group"):
            chosen(name)
