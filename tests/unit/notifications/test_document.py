"""Our entry is added and removed; the other notifications of the bucket stay."""

import copy
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bucketcast.notifications import document as notifications
from bucketcast.notifications import eventbridge
from bucketcast.rules.sent_events import EVENTS, WHOLE, Part

QUEUE = "arn:aws:sqs:eu-west-1:111122223333:Bucketcast-ingress"
OURS = "Bucketcast-ingress"
ALL, PUT = "s3:ObjectCreated:*", "s3:ObjectCreated:Put"

THUMBS = {
    "Id": "thumbs",
    "LambdaFunctionArn": "arn:aws:lambda:eu-west-1:111122223333:function:thumbs",
    "Events": ["s3:ObjectCreated:Put"],
    "Filter": {"Key": {"FilterRules": [{"Name": "Prefix", "Value": "in/"}]}},
}


def test_entry_asks_for_what_minios_words_ask_for() -> None:
    (entry,) = notifications.attach({}, OURS, QUEUE)["QueueConfigurations"]
    assert entry["Events"] == list(EVENTS)
    assert "Filter" not in entry


def test_attaching_again_replaces_the_entry() -> None:
    once = notifications.attach({}, OURS, "arn:aws:sqs:eu-west-1:111122223333:older")
    twice = notifications.attach(once, OURS, QUEUE)
    assert [entry["QueueArn"] for entry in twice["QueueConfigurations"]] == [QUEUE]


def test_an_entry_whose_events_s3_has_reordered_is_the_same() -> None:
    whole = notifications.attach({}, OURS, QUEUE)
    (entry,) = whole["QueueConfigurations"]
    reordered = {"QueueConfigurations": [{**entry, "Events": sorted(entry["Events"])}]}
    assert notifications.attach(reordered, OURS, QUEUE) == reordered
    assert notifications.our_part(reordered, OURS, QUEUE) == WHOLE


@pytest.mark.parametrize(
    ("typed", "stored"),
    [("year=2026/", "year%3D2026/"), ("a b+c/", "a+b%2Bc/"), ("ü&%/", "%C3%BC%26%25/")],
)
def test_ends_of_keys_are_encoded_as_s3_compares_them(typed: str, stored: str) -> None:
    part = Part.of(["s3:ObjectCreated:*"], typed, typed)
    document = notifications.attach({}, OURS, QUEUE, part)
    rules = document["QueueConfigurations"][0]["Filter"]["Key"]["FilterRules"]
    assert [each["Value"] for each in rules] == [stored, stored]
    assert notifications.our_part(document, OURS, QUEUE) == part
    with pytest.raises(notifications.Overlap, match=re.escape(f"prefix '{typed}'")):
        notifications.attach(document, "others", QUEUE, Part.of(["s3:ObjectCreated:Put"], typed))


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("s3:ObjectCreated:*", "s3:ObjectCreated:*"),
        ("s3:ObjectCreated:Put", "s3:ObjectCreated:*"),
        ("s3:ObjectCreated:*", "s3:ObjectCreated:Put"),
        ("s3:LifecycleTransition", "s3:LifecycleTransition"),
    ],
)
def test_overlap_names_the_other_entry(theirs: str, ours: str) -> None:
    before = {"LambdaFunctionConfigurations": [{**THUMBS, "Events": [theirs]}]}
    with pytest.raises(notifications.Overlap) as caught:
        notifications.attach(before, OURS, QUEUE, Part.of([ours]))
    for part in ("'thumbs'", "function:thumbs", "prefix 'in/'", ours, 'via = "eventbridge"'):
        assert part in str(caught.value)


_ids = st.sampled_from(["a", "b", "c", OURS])


@given(ids=st.lists(_ids, unique=True), switched=st.booleans())
def test_attach_then_detach_leaves_what_others_wrote(ids: list[str], *, switched: bool) -> None:
    before = notifications.detach(
        {
            "LambdaFunctionConfigurations": [{**THUMBS, "Id": id_} for id_ in ids],
            **({"EventBridgeConfiguration": {}} if switched else {}),
        },
        OURS,
    )
    untouched = copy.deepcopy(before)
    attached = notifications.attach(before, OURS, QUEUE, Part.of(["s3:ObjectRemoved:*"]))
    assert before == untouched
    assert notifications.detach(attached, OURS) == before


def test_rule_names_fit_eventbridges_limit() -> None:
    assert eventbridge.rule_name("Bucketcast", "uploads") == "Bucketcast-attached-uploads"
    long = [eventbridge.rule_name("Bucketcast", "b" * 62 + end) for end in "ab"]
    assert all(len(name) <= 64 and name.startswith("Bucketcast-attached-") for name in long)
    assert len(set(long)) == 2


def test_an_entry_is_the_same_however_its_filter_is_written() -> None:
    """S3 gives `Prefix` for `prefix`; taken for a loss, that would refuse every deploy."""

    def entry(*rules: tuple[str, str]) -> dict[str, Any]:
        pairs = [{"Name": name, "Value": value} for name, value in rules]
        theirs = {"Id": "theirs", "QueueArn": QUEUE, "Events": ["s3:ObjectCreated:Put"]}
        return {"QueueConfigurations": [{**theirs, "Filter": {"Key": {"FilterRules": pairs}}}]}

    written, returned = entry(("prefix", "in/")), entry(("Suffix", ""), ("Prefix", "in/"))
    whole = entry()
    whole["QueueConfigurations"][0].pop("Filter")
    assert (
        notifications.lost_entries(written, returned)
        == notifications.lost_entries(returned, written)
        == []
    )
    assert (
        notifications.lost_entries(whole, entry())
        == notifications.lost_entries(entry(), whole)
        == []
    )
    assert notifications.lost_entries(written, whole)
    assert notifications.lost_entries(written, entry(("suffix", "in/")))


@pytest.mark.parametrize(
    ("theirs", "ours", "meet"),
    [
        ((ALL, "in/", ""), (PUT, "in/", ""), True),
        ((ALL, "in/", ""), (PUT, "in/raw/", ""), True),
        ((ALL, "in/raw/", ""), (PUT, "in/", ""), True),
        ((ALL, "in/", ""), (PUT, "", ""), True),
        ((ALL, "in/", ""), (PUT, "out/", ""), False),
        ((ALL, "", ".jpg"), (PUT, "", ".png"), False),
        ((ALL, "", ".jpg"), (PUT, "", "a.jpg"), True),
        ((ALL, "in/", ".jpg"), (PUT, "out/", ".jpg"), False),
        ((ALL, "in/", ".jpg"), (PUT, "in/", ".png"), False),
        ((ALL, "in/", ""), (PUT, "", ".jpg"), True),
        (("s3:ObjectCreated:Put",), ("s3:ObjectCreated:Copy",), False),
        (("s3:ObjectRestore:*",), ("s3:ObjectRemoved:*",), False),
        (("s3:LifecycleTransition",), ("s3:LifecycleExpiration:*",), False),
    ],
)
def test_entries_overlap_where_an_event_may_be_of_both(
    theirs: tuple[str, ...], ours: tuple[str, ...], *, meet: bool
) -> None:
    before = notifications.attach({}, "theirs", QUEUE, Part.of([theirs[0]], *theirs[1:]))
    try:
        notifications.attach(before, OURS, QUEUE, Part.of([ours[0]], *ours[1:]))
    except notifications.Overlap:
        assert meet
    else:
        assert not meet
