"""Synthetic events lose against real ones, in any order of arrival."""

import json
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bucketcast import sources
from bucketcast.event import Event
from bucketcast.mirror.registers import Register, fold
from bucketcast.mirror.synthetic import EPOCH, Object, created, just_after, marked, removed
from bucketcast.shapes.minio import log
from tests.contract.bucket import Bucket, Version, What
from tests.contract.bucket_records import body, time_of
from tests.contract.oracle import visible

MARCH = 1_773_480_413_589
CAT = Object("uploads", "photos/cat.jpg", "v1", 1024, "d41d8", MARCH, "GLACIER")
MARKER = "s3:ObjectRemoved:DeleteMarkerCreated"
PUT = "s3:ObjectCreated:Put"


def test_a_target_reads_the_fields_of_the_record() -> None:
    made = created(CAT)
    (read,) = sources.events(log(made).decode())
    assert msgspec.structs.replace(read, storage_class="GLACIER") == made


@pytest.mark.parametrize(
    ("etag", "name"),
    [
        ("d41d8cd98f00b204e9800998ecf8427e", PUT),
        ("d41d8cd98f00b204e9800998ecf8427e-12", "s3:ObjectCreated:CompleteMultipartUpload"),
        ("not-a-count", PUT),
        (None, PUT),
    ],
)
def test_an_etag_of_parts_is_a_multipart_upload(etag: str | None, name: str) -> None:
    assert created(CAT._replace(etag=etag)).name == name


def test_fields_that_no_listing_has_are_left_out() -> None:
    made = created(Object("uploads", "a"))
    assert (made.size, made.etag, made.version_id, made.storage_class) == (None, None, None, None)
    assert made.time == EPOCH


def test_a_delete_marker_becomes_minios_event_of_its_making() -> None:
    (parsed,) = json.loads(log(marked(CAT)))["Records"]
    assert parsed["eventName"] == MARKER
    assert parsed["eventTime"] == "2026-03-14T09:26:53.589Z"
    assert parsed["source"]["userAgent"] == "Bucketcast backfill"
    assert parsed["s3"]["object"] == {
        "key": "photos%2Fcat.jpg",
        "versionId": "v1",
        "sequencer": "0000000000000000",
    }


def test_the_null_version_is_none_as_in_real_events() -> None:
    assert created(CAT._replace(version_id="null")).version_id is None


def test_id_is_the_same_in_every_run_and_another_for_every_object() -> None:
    others = [CAT._replace(key="b"), CAT._replace(version_id="v2"), CAT._replace(modified=1)]
    assert created(CAT).id == created(CAT).id
    assert len({created(each).id for each in (CAT, *others)}) == 4


def test_a_removal_is_about_the_key_whatever_its_version() -> None:
    gone = removed(Object("uploads", "a"), sequencer="1f", time=EPOCH)
    (entry,) = fold([gone])
    assert (entry.register, entry.version, gone.dialect) == (Register.REMOVAL, "", "minio")


@pytest.mark.parametrize(
    ("time", "after"),
    [
        ("2026-03-14T09:26:53.589Z", "2026-03-14T09:26:53.590Z"),
        ("2026-12-31T23:59:59.999Z", "2027-01-01T00:00:00.000Z"),
        ("", "1970-01-01T00:00:00.001Z"),
    ],
)
def test_just_after_is_a_millisecond_later(time: str, after: str) -> None:
    assert just_after(("1f", time)) == ("1f", after)


STEPS = st.tuples(
    st.sampled_from(["put", "put", "delete", "delete an older version"]), st.sampled_from("abc")
)


def take(bucket: Bucket, what: str, key: str) -> list[Event]:
    """Do one thing in a bucket; return the events that S3 sends of it."""
    older = bucket.keys.get(key, [])[:-1]
    if what == "put":
        happened = bucket.create(key, What.PUT, size=bucket.now)
    elif what == "delete" and key in bucket.listing():
        happened = bucket.delete(key)
    elif older:
        happened = bucket.remove(key, older[-1])
    else:
        return []
    return sources.events(json.dumps(body("s3", "uploads", happened, Random(0), 0.0)))  # noqa: S311 - not by chance


def listed(key: str, version: Version) -> Event:
    modified = round(time_of(version.made).timestamp() * 1_000)
    found = Object("uploads", key, version.id, version.size, version.etag, modified)
    return created(found)


@given(
    st.booleans(),
    st.lists(STEPS, max_size=8),
    st.lists(STEPS, max_size=8),
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 8)),
    st.randoms(),
)
def test_a_mirror_ends_as_its_bucket(
    versioned: bool,  # noqa: FBT001 - hypothesis gives it
    before: list[tuple[str, str]],
    after: list[tuple[str, str]],
    listed_at: dict[str, int],
    random: Any,
) -> None:
    """What happens before there is a rule is only listed; what happens afterwards is also told.

    The listing comes to each key at a moment of its own, and events in any order, some twice.
    """
    bucket, sent = Bucket(versioning="on" if versioned else "off"), list[Event]()
    for step in before:
        take(bucket, *step)
    for count in range(len(after) + 1):
        for key, version in bucket.listing().items():
            if min(listed_at.get(key, 0), len(after)) == count:
                sent.append(listed(key, version))
        if count < len(after):
            sent += take(bucket, *after[count])
    sent += sent[::2]
    random.shuffle(sent)
    etags = {path: row.etag for path, row in visible(folded(sent, random)).items()}
    assert etags == {f"uploads/{key}": version.etag for key, version in bucket.listing().items()}


def folded(events: list[Event], random: Any) -> list[Event]:
    """What is left of the events when they come in two batches, each folded by itself."""
    cut = random.randint(0, len(events))
    return [entry.event for part in (events[:cut], events[cut:]) for entry in fold(part)]
