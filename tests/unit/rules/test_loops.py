"""Loops: a target that writes into the bucket whose events it gets."""

import pytest

from bucketcast.destination import ListenerArn, TargetArn
from bucketcast.rules import Hit, loops
from tests.unit.samples import event


@pytest.mark.parametrize(
    ("url", "bucket"),
    [
        ("https://uploads.s3.amazonaws.com/in", "uploads"),
        ("https://my.uploads.s3.eu-central-1.amazonaws.com/", "my.uploads"),
        ("https://uploads.s3-us-west-2.amazonaws.com", "uploads"),
        ("https://uploads.s3.dualstack.eu-central-1.amazonaws.com/x", "uploads"),
        ("https://uploads.s3-accelerate.amazonaws.com/x", "uploads"),
        ("https://uploads.s3.cn-north-1.amazonaws.com.cn/x", "uploads"),
        ("https://uploads.s3.eusc-de-east-1.amazonaws.eu/x", "uploads"),
        ("https://uploads.s3-website-us-east-1.amazonaws.com/x", "uploads"),
        ("https://s3.amazonaws.com/uploads/in", "uploads"),
        ("https://S3.us-gov-west-1.amazonaws.com/Uploads", "uploads"),
        ("https://user:pass@uploads.s3.amazonaws.com:443/in", "uploads"),
        ("https://example.org/uploads", ""),
        ("https://s3.example.org/uploads", ""),
        ("https://abc.execute-api.eu-central-1.amazonaws.com/uploads", ""),
        ("https://[::1", ""),
        ("", ""),
    ],
)
def test_bucket_in_finds_the_bucket_of_an_s3_url(url: str, bucket: str) -> None:
    assert loops.bucket_in(url) == bucket


@pytest.mark.parametrize(
    ("key", "repeats"),
    [
        ("thumbs/thumbs/thumbs/cat.jpg", True),
        ("a/thumb-thumb-thumb-cat.jpg", True),
        ("cat_small_small_small.jpg", True),
        ("cat.jpg.gz.gz.gz", True),
        ("out/small/out/small/out/small/cat.jpg", True),
        ("out/small/2026/out/small/2026/out/small/2026/cat.jpg", True),
        ("thumbs/thumbs/cat.jpg", False),
        ("2026/01/01/01/data.csv", False),
        ("a/b/c/d/e/f/g", False),
        ("--------", False),
        ("", False),
        ("x" * 1_024, False),
        ("-" * 1_024, False),
        ("1/" * 512, False),
        ("a1/" * 341, True),
        ("ab/" * 2 + "abc/" * 2, False),
    ],
)
def test_repeats_itself_recognises_repeated_parts(key: str, *, repeats: bool) -> None:
    assert loops.repeats_itself(key) is repeats


def test_suspected_buckets_are_those_of_matched_creations() -> None:
    loop = "t/thumbs/thumbs/thumbs/a"
    hits = [Hit(TargetArn("primary", "webhook"), "a-rule")]
    assert loops.suspected_buckets([(event(loop), hits), (event("a"), hits)]) == ["uploads"]
    assert loops.suspected_buckets([(event(loop), ())]) == []
    assert loops.suspected_buckets([(event(loop), [Hit(ListenerArn("x"), "a-rule")])]) == []
    assert loops.suspected_buckets([(event(loop, name="s3:ObjectRemoved:Delete"), hits)]) == []
    many = [(event(loop if n % 2 else "a"), hits) for n in range(1_001)]
    assert loops.suspected_buckets(many[1:] + many[1:]) == ["uploads"]
    assert loops.suspected_buckets([]) == []
