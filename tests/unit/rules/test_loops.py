"""Loops: a target that writes into the bucket whose events it gets."""

import pytest

from bucketcast.rules import loops


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
