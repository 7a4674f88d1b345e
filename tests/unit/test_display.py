"""Text for display."""

import pytest

from bucketcast.display import printable, redacted_url, size


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
def test_url_is_shown_redacted_url(url: str, expected: str) -> None:
    assert redacted_url(url) == expected


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("photos/Ä 日本.jpg", "photos/Ä 日本.jpg"),
        (
            "in/\x1b]0;owned\x07\x9b2J\u202egpj.\x7f\nmade-up row\tend\u2028",
            r"in/\x1b]0;owned\x07\x9b2J\u202egpj.\x7f\nmade-up row\tend\u2028",
        ),
        ("a\udcffb", r"a\udcffb"),
        ("back\\slash", "back\\slash"),
    ],
)
def test_unprintable_characters_are_escaped(text: str, escaped: str) -> None:
    assert printable(text) == escaped


def test_a_size_is_in_the_largest_unit_and_one_byte_is_singular() -> None:
    assert [size(number) for number in (0, 1, 2)] == ["0 bytes", "1 byte", "2 bytes"]
    assert [size(number) for number in (1_023, 1_536, 1 << 40)] == [
        "1023 bytes",
        "1.5 KiB",
        "1.0 TiB",
    ]
