"""Access events: what a bucket names, and what a trail has to log for it."""

from itertools import combinations

import pytest

from bucketcast.config import deployable
from bucketcast.config.trail import BUCKET_EVENTS, selectors
from bucketcast.rules.access_events import NAMES
from tests.unit.config.folder import Folder

GET, HEAD = NAMES["get"], NAMES["head"]
MOST_VALUES = 500
"""CloudTrail's limit of a trail, for all fields of all its selectors."""


def values(made: list[dict[str, list[dict[str, list[str]]]]]) -> int:
    fields = [field for selector in made for field in selector["FieldSelectors"]]
    return sum(len(texts) for field in fields for key, texts in field.items() if key != "Field")


def test_events_are_named_by_word_or_name_and_their_price_is_noted(folder: Folder) -> None:
    deployment = folder.load(f"[bucket.uploads]\naccess_events = ['get', '{HEAD}']\n[bucket.other]")
    assert deployment.access_events == {"uploads": (GET, HEAD)}
    assert deployment.trail.create
    (note,) = [note for note in deployment.notes if "access_events" in note]
    assert note == (
        "bucket.uploads.access_events: a trail logs GetObject, HeadObject, at $1.00 per million "
        "calls logged, failed ones too"
    )


def test_bucket_events_have_a_price_of_their_own(folder: Folder) -> None:
    deployment = folder.load("[bucket.uploads]\naccess_events = ['bucket-removal']")
    (note,) = [note for note in deployment.notes if "access_events" in note]
    assert "a trail logs DeleteBucket, with all management events" in note
    assert "$2.00 per 100,000" in note


@pytest.mark.parametrize("word", ["on", "put", "s3:ObjectCreated:Put", "s3:ObjectAccessed:*"])
def test_event_that_is_none_of_cloudtrails_is_refused(folder: Folder, word: str) -> None:
    problem = folder.problem(f"[bucket.uploads]\naccess_events = ['get', '{word}']")
    assert problem.startswith(f"bucket.uploads.access_events: found '{word}'; allowed is one of")
    assert all(allowed in problem for pair in NAMES.items() for allowed in pair)


def test_another_trail_is_left_to_its_owner(folder: Folder) -> None:
    text = "[bucket.uploads]\naccess_events = ['get']\n[trail]\ncreate = false"
    (note,) = [note for note in folder.load(text).notes if "access_events" in note]
    assert "the owner of another trail has to let it log GetObject, at $1.00" in note


def test_buckets_with_the_same_events_share_a_selector() -> None:
    made = selectors({"a": (GET, HEAD), "b": (HEAD,), "c": (HEAD, GET), "d": ()}, "aws-cn")
    assert [selector["Name"] for selector in made] == ["GetObject, HeadObject", "HeadObject"]
    assert made[0]["FieldSelectors"] == [
        {"Field": "eventCategory", "Equals": ["Data"]},
        {"Field": "resources.type", "Equals": ["AWS::S3::Object"]},
        {"Field": "eventName", "Equals": ["GetObject", "HeadObject"]},
        {
            "Field": "resources.ARN",
            "StartsWith": ["arn:aws-cn:s3:::a/", "arn:aws-cn:s3:::c/"],
        },
    ]


def test_bucket_events_are_management_events() -> None:
    (selector,) = selectors({"a": (NAMES["bucket-creation"],)}, "aws")
    assert selector["FieldSelectors"] == [
        {"Field": "eventCategory", "Equals": ["Management"]},
        {"Field": "readOnly", "Equals": ["false"]},
    ]


def test_most_buckets_of_a_stack_fit_into_a_trail_whatever_their_events() -> None:
    events = set(NAMES.values()) - BUCKET_EVENTS
    lists = [each for size in range(1, 7) for each in combinations(sorted(events), size)]
    longest = sorted(lists, key=len)[-deployable.MOST_BUCKETS :]
    buckets = {f"b-{number}": (*each, *BUCKET_EVENTS) for number, each in enumerate(longest)}
    assert len(buckets) == deployable.MOST_BUCKETS
    assert values(selectors(buckets, "aws")) <= MOST_VALUES
