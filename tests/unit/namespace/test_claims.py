"""A mirror shows a bucket of its first source; events of other sources wait."""

from collections.abc import Mapping

import pytest

from bucketcast.errors import Foreign
from bucketcast.event import AGENT, Event
from bucketcast.namespace.claims import Claims, source
from tests.unit.made import event


class Table:
    """Claims as a table keeps them, and how often it was asked."""

    def __init__(self) -> None:
        self.rows: dict[str, str] = {}
        self.reads = 0

    def claim(self, wanted: Mapping[str, str]) -> Mapping[str, str]:
        self.reads += 1
        for bucket, who in wanted.items():
            self.rows.setdefault(bucket, who)
        return {bucket: self.rows[bucket] for bucket in wanted}


def claims() -> Claims:
    return Claims("table images", "the bucket's row from images_guard")


def of(dialect: str, key: str = "a", **more: str) -> Event:
    return event(key, dialect=dialect, **more)


@pytest.mark.parametrize(
    ("dialect", "who"),
    [
        ("", "aws:s3"),
        ("eventbridge", "aws:s3"),
        ("cloudtrail", "aws:s3"),
        ("minio", "minio:s3"),
        ("ceph", "ceph:s3"),
    ],
)
def test_amazons_dialects_are_one_source(dialect: str, who: str) -> None:
    assert source(of(dialect)) == who


def test_the_first_source_has_the_bucket() -> None:
    table, some = Table(), claims()
    assert some.refused([of(""), of("eventbridge")], table.claim) == {}
    refused = some.refused([of("minio"), of(""), of("ceph", bucket="other")], table.claim)
    assert refused.keys() == {0}
    assert isinstance(refused[0], Foreign)
    assert str(refused[0]) == (
        "table images shows the bucket uploads of Amazon S3, and this event is of MinIO's: their "
        "order cannot be compared. Give one of the two another table; or, if Amazon S3 sends no "
        "more of it, remove the bucket's row from images_guard"
    )
    assert table.rows == {"uploads": "aws:s3", "other": "ceph:s3"}


def test_of_two_in_one_batch_the_first_has_the_bucket() -> None:
    table = Table()
    assert claims().refused([of("minio"), of(""), of("minio")], table.claim).keys() == {1}


def test_a_cached_answer_is_not_read_again() -> None:
    table, some = Table(), claims()
    for _ in range(3):
        assert some.refused([of("minio")], table.claim) == {}
    assert table.reads == 1
    some.forget()
    assert some.refused([of("minio")], table.claim) == {}
    assert table.reads == 2


def test_a_removed_claim_goes_to_the_source_that_waited() -> None:
    table, some = Table(), claims()
    assert some.refused([of("minio")], table.claim) == {}
    assert some.refused([of("")], table.claim).keys() == {0}
    table.rows.clear()
    assert some.refused([of("")], table.claim) == {}
    assert some.refused([of("minio")], table.claim).keys() == {0}


def test_our_jobs_claim_nothing_and_are_never_refused() -> None:
    table, some = Table(), claims()
    made_up = of("minio", user_agent=AGENT + "backfill")
    assert some.refused([made_up], table.claim) == {}
    assert table.rows == {}
    assert some.refused([of("")], table.claim) == {}
    assert some.refused([made_up, of("")], table.claim) == {}


@pytest.mark.parametrize("bucket", ["nul\0", "\ud800", "größe"])
def test_a_name_that_no_bucket_has_is_left_to_the_server(bucket: str) -> None:
    table, some = Table(), claims()
    assert some.refused([of("", bucket=bucket), of("minio", bucket=bucket)], table.claim) == {}
    assert table.reads == 0


@pytest.mark.parametrize("name", ["s3:ObjectAccessed:Get", "s3:ObjectRemoved:NoOP"])
def test_what_writes_nothing_claims_nothing(name: str) -> None:
    table, some = Table(), claims()
    assert some.refused([of("minio", name=name)], table.claim) == {}
    assert some.refused([of("minio", "", name="s3:BucketCreated:*")], table.claim) == {}
    assert some.refused([of("")], table.claim) == {}
    assert some.refused([of("minio", name=name)], table.claim) == {}
    assert table.rows == {"uploads": "aws:s3"}
