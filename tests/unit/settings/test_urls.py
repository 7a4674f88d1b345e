"""Addresses as they are shown."""

import pytest

from bucketcast.settings import urls


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.org/hook", "https://example.org/hook"),
        ("https://example.org:8443/a/b/?token=s3cret#x", "https://example.org:8443/a/b/"),
        ("https://me:s3cret@example.org/", "https://example.org/"),
        (
            "https://hooks.example.org/services/T024BE7LD/B024BE7LDAAAAAAA/x1Yz8wVuTsRqPoNmLkJiHgFe",
            "https://hooks.example.org/services/T024BE7LD/***/***",
        ),
        (
            "https://example.org/7f3c2e1a-0b4d-4c6e-9a8f-001122334455/in",
            "https://example.org/***/in",
        ),
        (
            "https://example.org/api/v2/bucket-notifications",
            "https://example.org/api/v2/bucket-notifications",
        ),
        ("http://[::1]:9200/events", "http://[::1]:9200/events"),
        ("http://[::1/", "***"),
        ("/elsewhere?token=s3cret", "/elsewhere"),
    ],
)
def test_an_address_shows_no_login(url: str, expected: str) -> None:
    assert urls.redacted(url) == expected
