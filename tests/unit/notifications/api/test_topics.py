"""`TopicConfiguration`: Ceph's checks, and back as RGW gives it."""

import pytest
from msgspec.structs import replace

from bucketcast.notifications import topic_configuration as notification
from bucketcast.notifications.api import conversion, document
from bucketcast.notifications.api.document import Document, Queue
from bucketcast.notifications.topic_configuration import Notification
from bucketcast.rules import Rule
from bucketcast.web.errors import S3Error
from tests.unit.notifications.api.test_document import HOOK, PUT, config, rule

TOPIC = "arn:aws:sns:us-east-1::photos"
OTHER = "arn:aws:sns:us-east-1:acme:photos"
USUAL = ("s3:ObjectCreated:*", "s3:ObjectRemoved:*")


def read(text: str) -> list[Notification]:
    return document.read(config(text).encode(), [HOOK].__contains__, "us-east-1").notifications


NO_VALUE = "<FilterRule><Name>prefix</Name></FilterRule>"


def topic(inside: str = "", *, arn: str = TOPIC, id_: str = "<Id>one</Id>") -> str:
    return f"<TopicConfiguration>{id_}<Topic>{arn}</Topic>{inside}</TopicConfiguration>"


def filters(kind: str, *pairs: tuple[str, str]) -> str:
    elements = "".join(rule(*pair) for pair in pairs)
    return f"<Filter><{kind}>{elements}</{kind}></Filter>"


KEY = rule("regex", "([a-z]+)") + rule("suffix", "g") + rule("prefix", "a*")
ALL = (
    f"<Event>{PUT}</Event><Filter><S3Key>{KEY}</S3Key>"
    f"<S3Metadata>{rule('x-amz-meta-Foo', 'b&amp;r')}</S3Metadata>"
    f"<S3Tags>{rule('Foo', '')}</S3Tags></Filter>"
)


def test_all_filters_are_returned_in_rgws_order() -> None:
    (found,) = read(topic(ALL))
    assert found == Notification(
        id="one",
        topic=TOPIC,
        events=(PUT,),
        key=(("prefix", "a*"), ("suffix", "g"), ("regex", "([a-z]+)")),
        metadata=(("x-amz-meta-foo", "b&r"),),
        tags=(("Foo", ""),),
    )
    text = document.write([], [found]).decode()
    assert text.partition("<TopicConfiguration>")[2] == (
        f"<Id>one</Id><Topic>{TOPIC}</Topic><Filter><S3Key>"
        "<FilterRule><Name>prefix</Name><Value>a*</Value></FilterRule>"
        "<FilterRule><Name>suffix</Name><Value>g</Value></FilterRule>"
        "<FilterRule><Name>regex</Name><Value>([a-z]+)</Value></FilterRule></S3Key>"
        "<S3Metadata><FilterRule><Name>x-amz-meta-foo</Name><Value>b&amp;r</Value></FilterRule>"
        "</S3Metadata><S3Tags><FilterRule><Name>Foo</Name><Value></Value></FilterRule></S3Tags>"
        f"</Filter><Event>{PUT}</Event></TopicConfiguration></NotificationConfiguration>"
    )
    assert document.read(text.encode(), [].__contains__, "us-east-1") == Document([], [found])


def test_notifications_are_returned_in_the_order_of_their_ids() -> None:
    sent = "".join(topic(id_=f"<Id>{id_}</Id>") for id_ in ("b", "a", "c"))
    returned = document.read(
        document.write([], read(sent)), [].__contains__, "us-east-1"
    ).notifications
    assert [each.id for each in returned] == ["a", "b", "c"]


def test_events_default_to_cephs_and_empty_filters_are_dropped() -> None:
    (found,) = read(topic(filters("S3Key", ("prefix", ""), ("suffix", ""))))
    assert (found.events, found.key) == (USUAL, ())
    assert b"<Filter>" not in document.write([], [found])


def test_first_value_of_a_tag_counts_and_events_are_unique() -> None:
    pairs = filters("S3Tags", ("b", "1"), ("a", "2"), ("b", "3"))
    (found,) = read(topic(f"<Event>{PUT}</Event><Event>{PUT}</Event>" + pairs))
    assert (found.tags, found.events) == ((("a", "2"), ("b", "1")), (PUT,))


def test_missing_id_is_generated_from_the_content() -> None:
    (one,), (again,), (else_,) = (
        read(topic(inside, id_="")) for inside in ("", "", f"<Event>{PUT}</Event>")
    )
    assert one.id == again.id != else_.id
    assert len(one.id) == 32


@pytest.mark.parametrize(
    ("inside", "code"),
    [
        (topic(id_="<Id></Id>"), "InvalidArgument"),
        ("<TopicConfiguration><Id>one</Id></TopicConfiguration>", "MalformedXML"),
        (topic(arn="photos"), "InvalidArgument"),
        (topic(arn=HOOK), "InvalidArgument"),
        (topic("<Event>s3:ObjectCreated:Nothing</Event>"), "InvalidArgument"),
        (topic(filters("S3Key", ("Prefix", "a"))), "MalformedXML"),
        (topic(filters("S3Key", ("prefix", "a"), ("prefix", "b"))), "MalformedXML"),
        (topic(f"<Filter><S3Tags>{NO_VALUE}</S3Tags></Filter>"), "MalformedXML"),
        (topic(filters("S3Metadata", ("colour", "red"))), "InvalidArgument"),
        (topic(filters("S3Tags", ("", "red"))), "InvalidArgument"),
    ],
)
def test_errors_have_cephs_codes(inside: str, code: str) -> None:
    with pytest.raises(S3Error) as caught:
        read(inside)
    assert (caught.value.code, caught.value.status) == (code, 400)


@pytest.mark.parametrize("bad", ["[a-", "(", "*", "(?=a)b", r"(a)\1", "a" * 1_001, "(a{1000}){50}"])
def test_invalid_regular_expression_is_refused(bad: str) -> None:
    with pytest.raises(S3Error, match=r"InvalidArgument: .* S3Key: .*regular expression"):
        read(topic(filters("S3Key", ("regex", bad))))


# How the two kinds of configuration meet


def rules_of(*notifications: Notification) -> list[Rule]:
    queue = Rule(bucket="b", arn=HOOK, events=(PUT,))
    return [queue, *(notification.rule("b", each) for each in notifications)]


ONE = Notification(id="one", topic=TOPIC, key=(("regex", "a+"),), tags=(("k", "v"),))
TWO = Notification(id="two", topic=TOPIC)


def after(
    before: list[Rule], queues: list[Queue], given: list[Notification], *, whole: bool = False
) -> tuple[list[str], list[Notification]]:
    made = conversion.apply_document("b", Document(queues, given), before, whole=whole)
    back = [notification.notification(rule) for rule in made if notification.is_notification(rule)]
    return [rule.arn for rule in made if not notification.is_notification(rule)], back


def test_a_notification_is_a_rule_and_back() -> None:
    (found,) = read(topic(ALL))
    assert notification.notification(notification.rule("b", found)) == found
    assert conversion.shown_id(notification.rule("b", found)) == "one"


def test_notifications_of_topics_are_merged_by_id_and_topic() -> None:
    changed = Notification(id="one", topic=TOPIC, events=(PUT,))
    elsewhere = Notification(id="one", topic=OTHER)
    assert after(rules_of(ONE, TWO), [], [changed]) == ([HOOK], [changed, TWO])
    assert after(rules_of(ONE), [], [elsewhere]) == ([HOOK], [ONE, elsewhere])
    assert after(rules_of(), [], [ONE, changed]) == ([HOOK], [changed])


def test_document_replaces_targets_and_keeps_topics() -> None:
    assert after(rules_of(ONE), [Queue(HOOK, (PUT,), id="new")], []) == ([HOOK], [ONE])


def test_an_empty_document_removes_all() -> None:
    assert after(rules_of(ONE), [], []) == ([], [])
    assert after(rules_of(ONE), [], [], whole=True) == ([], [])


def test_minio_client_replaces_all_but_filters_it_cannot_express() -> None:
    seen = Notification(id="one", topic=TOPIC, key=(("prefix", "in/"),))
    queue = Queue(HOOK, (PUT,))
    targets, topics = after(rules_of(ONE, TWO), [queue], [seen], whole=True)
    assert (targets, topics) == (
        [HOOK],
        [
            Notification(
                id="one", topic=TOPIC, key=(("prefix", "in/"), ("regex", "a+")), tags=ONE.tags
            )
        ],
    )
    assert after(rules_of(ONE), [], [ONE], whole=True) == ([], [ONE])


@pytest.mark.parametrize("whole", [False, True])
def test_a_disabled_notification_is_replaced_by_one_of_its_id_and_topic(*, whole: bool) -> None:
    off = [replace(rule, disabled=True) for rule in rules_of(ONE)[1:]]
    changed = Notification(id="one", topic=TOPIC, events=(PUT,))
    kept = replace(changed, key=ONE.key, tags=ONE.tags) if whole else changed
    assert after(off, [], [changed], whole=whole) == ([], [kept])
    elsewhere = Notification(id="one", topic=OTHER)
    assert after(off, [], [elsewhere], whole=whole) == ([], [elsewhere, ONE])
