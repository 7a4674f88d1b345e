"""The usage of buckets in the state table: a newer scan's stays."""

from bucketcast.state.usage import BucketUsage, Usages
from tests.unit.moto_aws import TABLE, MotoAws

ONE = BucketUsage(1, None, None, None, {})
TWO = BucketUsage(2, 3, 1, 4, {"LESS_THAN_1024_B": 2})


def test_a_scan_of_an_older_source_changes_nothing(aws: MotoAws) -> None:
    usages = Usages(TABLE, aws.dynamodb)
    assert list(usages.read()) == []
    assert usages.put("uploads", TWO, 2_000.0)
    assert not usages.put("uploads", ONE, 1_999.9)
    assert list(usages.read()) == [("uploads", TWO)]
    assert usages.put("uploads", ONE, 2_000.0)
    assert usages.put("archive", TWO, 5.0)
    assert list(usages.read()) == [("archive", TWO), ("uploads", ONE)]
