"""Listen calls are parsed, and refused as by MinIO."""

import pytest

from bucketcast.listen import request
from bucketcast.web.errors import S3Error
from bucketcast.web.request import RawRequest

PUTS = "events=s3%3AObjectCreated%3A%2A"
VALUE = "Size of filter rule value cannot exceed 1024 bytes in UTF-8 representation"


def call(path: str, query: str, method: str = "GET") -> RawRequest:
    return RawRequest.of(method, path, query, {"host": "gateway"}.items())


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        ("GET", "/images", PUTS, True),
        ("GET", "/images/", f"{PUTS}&ping=10", True),
        ("GET", "/", f"prefix=&suffix=&{PUTS}", True),
        ("GET", "/images", "events", True),
        ("GET", "/images", "list-type=2", False),
        ("GET", "/images/a", PUTS, False),
        ("PUT", "/images", PUTS, False),
        ("HEAD", "/images", PUTS, False),
    ],
)
def test_the_query_marks_a_listen_call(
    method: str, path: str, query: str, *, expected: bool
) -> None:
    assert request.is_listen_call(call(path, query, method)) == expected


def test_a_call_without_a_bucket_has_its_events_and_key_parts() -> None:
    query = f"prefix=photos%2F&suffix=.jpg&{PUTS}&events=s3%3ABucketRemoved%3A%2A"
    listen_filter = request.read_filter(call("/", query), "anna")
    assert listen_filter.events == ("s3:ObjectCreated:*", "s3:BucketRemoved:*")
    assert (listen_filter.prefix, listen_filter.suffix) == ("photos/", ".jpg")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (f"prefix=a&prefix=b&{PUTS}", "Cannot specify more than one prefix rule in a filter."),
        (f"suffix=a&suffix=b&{PUTS}", "Cannot specify more than one suffix rule in a filter."),
        (f"prefix=..%2Fx&{PUTS}", VALUE),
        (f"suffix=.%2Fa&{PUTS}", VALUE),
        (f"prefix=a%5Cb&{PUTS}", VALUE),
        (f"prefix=%ff&{PUTS}", VALUE),
        (f"suffix={'a' * 1_025}&{PUTS}", VALUE),
        ("events=", "A specified event is not supported for notifications."),
        # The first error in MinIO's order is reported.
        ("events=x&suffix=.%2Fa&prefix=a&prefix=a", "Cannot specify more than one prefix rule"),
    ],
)
def test_errors_have_minios_order_and_messages(query: str, message: str) -> None:
    with pytest.raises(S3Error, match="InvalidArgument") as refused:
        request.read_filter(call("/images", query), "anna")
    assert message in refused.value.message


@pytest.mark.parametrize("name", ["s3:BucketCreated", "s3:BucketRemoved"])
def test_bucket_events_are_named_as_on_aistors_page(name: str) -> None:
    assert request.read_filter(call("/", f"events={name}"), "anna").events == (f"{name}:*",)


def test_a_prefix_may_have_1024_bytes() -> None:
    assert (
        request.read_filter(call("/", f"prefix={'%C3%BC' * 512}&{PUTS}"), "anna").prefix
        == "ü" * 512
    )


@pytest.mark.parametrize(("query", "seconds"), [("ping=10", 10), ("ping=1", 1), ("", 0)])
def test_ping_is_in_seconds(query: str, seconds: int) -> None:
    assert request.read_ping(call("/", f"{PUTS}&{query}")) == seconds


@pytest.mark.parametrize(
    "ping", ["0", "x", "-1", "1.5", "²", "9" * 400, "0000036000", "000000001" + "9" * 5_000]
)
def test_any_other_ping_is_refused_with_minios_code(ping: str) -> None:
    with pytest.raises(S3Error, match="AuthorizationQueryParametersError: ping is the number"):
        request.read_ping(call("/", f"{PUTS}&ping={ping}"))
