"""Notification documents: MinIO's checks, and back as they were given."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bucketcast.errors import BucketcastError
from bucketcast.limits import MOST_BUCKET_NOTIFICATIONS, MOST_XML_BYTES, MOST_XML_ELEMENTS
from bucketcast.notifications.api import conversion, document
from bucketcast.notifications.api.document import Queue
from bucketcast.rules import Rule
from bucketcast.rules.conditions import Condition
from bucketcast.web.errors import S3Error

HOOK, REDIS = "arn:minio:sqs::primary:webhook", "arn:minio:sqs::1:redis"
PUT, REMOVED = "s3:ObjectCreated:Put", "s3:ObjectRemoved:*"
EMPTY = (
    b'<NotificationConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
    b"</NotificationConfiguration>"
)


def read(text: str | bytes) -> list[Queue]:
    given = text.encode() if isinstance(text, str) else text
    return document.read(given, [HOOK, REDIS].__contains__, "eu-1").queues


def config(*queues: str) -> str:
    return f"<NotificationConfiguration>{''.join(queues)}</NotificationConfiguration>"


def queue(
    *, arn: str = HOOK, events: tuple[str, ...] = (PUT,), filters: str = "", id_: str = ""
) -> str:
    named = f"<Id>{id_}</Id>" if id_ else ""
    elements = "".join(f"<Event>{event}</Event>" for event in events)
    inside = f"<Filter><S3Key>{filters}</S3Key></Filter>" if filters else ""
    return f"<QueueConfiguration>{named}{elements}<Queue>{arn}</Queue>{inside}</QueueConfiguration>"


def rule(name: str, value: str) -> str:
    return f"<FilterRule><Name>{name}</Name><Value>{value}</Value></FilterRule>"


def test_document_round_trips() -> None:
    given_ = config(
        queue(
            id_="one &amp; only",
            events=(REMOVED, PUT),
            filters=rule("suffix", ".jpg") + rule("prefix", "../a\\ &lt;"),
        ),
        queue(arn=REDIS),
    )
    read_ = read(given_)
    assert read_ == [
        Queue(HOOK, (REMOVED, PUT), (("suffix", ".jpg"), ("prefix", "../a\\ <")), "one & only"),
        Queue(REDIS, (PUT,)),
    ]
    assert document.write(read_).decode() == (
        '<NotificationConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        "<QueueConfiguration><Id>one &amp; only</Id><Filter><S3Key>"
        "<FilterRule><Name>suffix</Name><Value>.jpg</Value></FilterRule>"
        "<FilterRule><Name>prefix</Name><Value>../a\\ &lt;</Value></FilterRule>"
        "</S3Key></Filter><Event>s3:ObjectRemoved:*</Event><Event>s3:ObjectCreated:Put</Event>"
        "<Queue>arn:minio:sqs::primary:webhook</Queue></QueueConfiguration>"
        "<QueueConfiguration><Id></Id><Event>s3:ObjectCreated:Put</Event>"
        "<Queue>arn:minio:sqs::1:redis</Queue></QueueConfiguration>"
        "</NotificationConfiguration>"
    )


text = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), max_size=12)


@given(
    st.lists(
        st.builds(
            Queue,
            arn=st.sampled_from([HOOK, REDIS]),
            events=st.lists(st.sampled_from([PUT, REMOVED]), min_size=1, unique=True).map(tuple),
            filters=st.lists(
                st.tuples(st.sampled_from(["prefix", "suffix"]), text),
                unique_by=lambda pair: pair[0],
            ).map(tuple),
            id=text,
        ),
        unique=True,
    )
)
def test_any_document_is_the_same_after_being_rules(queues: list[Queue]) -> None:
    assert read(document.write(queues)) == queues
    kept = conversion.rules("uploads", queues, [])
    assert [conversion.configuration(each, to_minios=True) for each in kept] == queues
    assert conversion.rules("uploads", queues, kept) == kept
    named = [conversion.configuration(each) for each in kept]  # others' clients may write it back
    assert all(queue.id for queue in named)
    assert conversion.rules("uploads", [*named, *queues], kept) == kept, "each is there once"


def test_an_empty_document_is_written_as_minio_writes_it() -> None:
    assert document.write([]) == EMPTY
    assert read(EMPTY) == []
    assert read(b"<NotificationConfiguration/>") == []
    assert read(b'\n<?xml version="1.0"?>\n<a:NotificationConfiguration xmlns:a="x"/>') == []


@pytest.mark.parametrize(
    ("element", "code", "message"),
    [
        ("EventBridgeConfiguration", "NotImplemented", "--via eventbridge"),
        ("QueueConfigurations", "MalformedXML", "found QueueConfigurations; allowed are"),
    ],
)
def test_an_element_that_says_nothing_removes_no_rule(
    element: str, code: str, message: str
) -> None:
    with pytest.raises(S3Error, match=code) as refused:
        read(config(f"<{element}/>"))
    assert message in refused.value.message


BAD = "arn:minio:sqs::nobody:webhook"
EVENT = "A specified event is not supported for notifications."
ARN = (
    "A specified destination ARN does not exist or is not well-formed. Verify the destination ARN."
)
REGION = "A specified destination is in a different region than the bucket."
NAME = "filter rule name must be either prefix or suffix"
TWICE = "An object key name filtering rule defined with overlapping prefixes, overlapping suffixes"
FUNCTION = "<CloudFunctionConfiguration><Id>f</Id></CloudFunctionConfiguration>"


@pytest.mark.parametrize(
    ("queues", "message"),
    [
        ([queue(events=("s3:ObjectCreated:Nothing",))], EVENT),
        ([queue(events=("s3:BucketCreated:*",))], EVENT),
        ([queue(events=(f" {PUT} ",))], EVENT),
        ([queue(arn="arn:aws:sqs:eu-1:1:q")], ARN),
        ([queue(arn=BAD)], ARN),
        ([queue(arn="arn:minio:sqs:us-west-1:primary:webhook")], REGION),
        ([queue(filters=rule("Prefix", "a"))], NAME),
        ([queue(filters="<FilterRule/>")], NAME),
        ([queue(filters=rule("suffix", "a") * 2)], "Cannot specify more than one suffix rule in a"),
        ([queue(events=(PUT, PUT))], "Configurations overlap."),
        ([queue(id_="a"), queue(), queue(id_="a")], TWICE),
        ([queue(), queue(arn=HOOK.replace("::", ":eu-1:"))], TWICE),
    ],
)
def test_invalid_arguments_are_answered_as_minio_answers_them(
    queues: list[str], message: str
) -> None:
    with pytest.raises(S3Error, match=rf"^InvalidArgument: {message}") as caught:
        read(config(*queues))
    assert caught.value.status == 400


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        (config(queue(events=())), "MalformedXML", "The XML you provided was not well-formed"),
        (config(FUNCTION), "UnsupportedNotification", "MinIO server does not support Topic or"),
        ("<Other/>", "MalformedXML", "The XML"),
        ("<NotificationConfiguration>", "MalformedXML", "The XML"),
        ("", "MalformedXML", "The XML"),
    ],
)
def test_errors_are_answered_as_minio_answers_them(text: str, code: str, message: str) -> None:
    with pytest.raises(S3Error) as caught:
        read(text)
    assert (caught.value.code, caught.value.status) == (code, 400)
    assert caught.value.message.startswith(message)


def test_a_region_is_that_of_the_gateway_or_none() -> None:
    assert read(config(queue(arn=HOOK.replace("::", ":eu-1:")))) == [Queue(HOOK, (PUT,))]


BOMB = (
    '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    "<NotificationConfiguration>&b;</NotificationConfiguration>"
)


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        '<!DOCTYPE x SYSTEM "file:///etc/passwd"><NotificationConfiguration/>',
        config("<a>" * 100_000),
        config(queue(filters="<a/>" * MOST_XML_ELEMENTS)),
        config("&unknown;"),
    ],
)
def test_documents_that_attack_are_refused(text: str) -> None:
    with pytest.raises(S3Error, match="MalformedXML"):
        read(text)


def test_ten_thousand_rules_fit_into_a_document() -> None:
    queues = [
        Queue(HOOK, (PUT, REMOVED), (("prefix", f"users/{number:05}/"), ("suffix", ".jpg")))
        for number in range(10_000)
    ]
    text = document.write(queues)
    assert len(text) < MOST_XML_BYTES
    assert read(text) == queues


PLAIN = Rule(bucket="uploads", arn=HOOK, events=(PUT,))
LARGE = replace(PLAIN, conditions=(Condition("size", ("1-",), "range"),))
NAMED = replace(PLAIN, name="copy")
LABELLED = replace(PLAIN, label="q")


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("disabled", [False, True])
@pytest.mark.parametrize("changed", [{}, {"filters": (("suffix", ".jpg"),)}, {"arn": REDIS}])
@pytest.mark.parametrize("rule", [PLAIN, LARGE, NAMED, LABELLED])
def test_an_id_stays_its_rules_however_often_a_client_writes_it(
    rule: Rule, changed: dict[str, Any], *, disabled: bool, whole: bool
) -> None:
    written = dataclasses.replace(conversion.configuration(rule), **changed)
    rules = [replace(rule, disabled=disabled)]
    for _ in range(2):
        given = document.Document([written, Queue(REDIS, (REMOVED,))], [])
        rules = conversion.apply_document("uploads", given, rules, whole=whole)
        made, _added = rules
        assert conversion.configuration(made) == written
        assert (made.conditions, made.name, made.disabled) == (rule.conditions, rule.name, False)


def test_an_id_of_conditions_that_are_gone_is_refused() -> None:
    written = conversion.configuration(LARGE)
    with pytest.raises(BucketcastError, match=f"uploads has no rule bucketcast:{LARGE.id}, "):
        conversion.rules("uploads", [written], [PLAIN])


@pytest.mark.parametrize("own", ["bucketcast:", "bucketcast:photos"])
def test_an_id_that_only_begins_like_a_rules_is_the_clients_own(own: str) -> None:
    written = Queue(HOOK, (PUT,), (), own)
    (made,) = conversion.rules("uploads", [written], [PLAIN])
    assert conversion.configuration(made) == written


def test_a_disabled_rule_stays_beside_another_with_its_id() -> None:
    off = replace(LABELLED, prefix="a/", disabled=True)
    given = document.Document([conversion.configuration(LABELLED)], [])
    rules = conversion.apply_document("uploads", given, [LABELLED, off], whole=True)
    assert rules == [LABELLED, off]


def test_a_document_is_read_no_further_than_its_last_notification_that_may_be() -> None:
    topic = "<TopicConfiguration><Topic>arn:aws:sns:r::t</Topic></TopicConfiguration>"
    text = config(topic * (MOST_BUCKET_NOTIFICATIONS + 1), "not XML")
    with pytest.raises(S3Error, match="allowed are 1,000 notifications of topics"):
        read(text)
