"""MinIO's bodies: what S3 reports of an object, in the format of the bodies captured from MinIO."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bucketcast import sources
from bucketcast.event import Event
from bucketcast.event.names import SINGLES
from bucketcast.shapes import minio
from tests.unit.samples import event, recorded


def s3_object(made: Event) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(minio.records(made))["Records"][0]["s3"]["object"]
    return found


def test_record_escapes_the_key_and_the_body_does_not() -> None:
    key = 'A-Z_a-z.0~9 a+b/100%"<&>*(c)!é😀'
    escaped = "A-Z_a-z.0~9+a%2Bb%2F100%25%22%3C%26%3E%2A%28c%29%21%C3%A9%F0%9F%98%80"
    body = json.loads(minio.log(event(key)))
    assert body["Records"][0]["s3"]["object"]["key"] == escaped
    assert body["Key"] == f"uploads/{key}"
    assert minio.path(event(key)) == f"uploads/{key}"


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("name", ["Delete", "DeleteMarkerCreated", "NoOP"])
def test_removals_have_no_size_and_etag(name: str, *, plain: bool) -> None:
    """S3's delete marker carries the eTag of nothing; MinIO's carries none."""
    full_name = f"s3:ObjectRemoved:{name}"
    found = s3_object(event(name=full_name, size=5, etag="e", version_id="", plain=plain))
    assert found.keys() == {"key", "sequencer"}, "nor has an object without a version its id"


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("x-amz-meta-owner-team", "X-Amz-Meta-Owner-Team"),
        ("x-amz-meta-s3cmd-attrs", "X-Amz-Meta-S3cmd-Attrs"),
        ("x-amz-meta-2nd", "X-Amz-Meta-2nd"),
        ("x-amz-meta-under_score", "X-Amz-Meta-Under_score"),
        ("x-amz-meta-dotted.name", "X-Amz-Meta-Dotted.name"),
        ("x-amz-meta-it's", "X-Amz-Meta-It's"),
        ("x-amz-meta--double--dash-", "X-Amz-Meta--Double--Dash-"),
        ("x-amz-meta-!#$%&'*+-.^_`|~z", "X-Amz-Meta-!#$%&'*+-.^_`|~z"),
        ("x-amz-meta-A.B", "X-Amz-Meta-A.b"),
        ("X-AMZ-META-LOUD", "X-Amz-Meta-Loud"),
        ("x-amz-meta-", "X-Amz-Meta-"),
        ("x-amz-meta-with blank", "x-amz-meta-with blank"),
        ("x-amz-meta-colon:name", "x-amz-meta-colon:name"),
        ("x-amz-meta-a(b)", "x-amz-meta-a(b)"),
        ("x-amz-meta-tab\tx", "x-amz-meta-tab\tx"),
        ("x-amz-meta-café", "x-amz-meta-café"),
        ("x-amz-meta-\u017fharp", "x-amz-meta-\u017fharp"),  # which is an S when it is large
    ],
)
def test_names_of_metadata_are_in_the_canonical_form_of_go(name: str, canonical: str) -> None:
    """As Go 1.26's http.CanonicalHeaderKey gave them."""
    assert s3_object(event(metadata={name: "x"}))["userMetadata"] == {canonical: "x"}


def test_an_ipv6_address_stands_in_brackets() -> None:
    body = json.loads(minio.log(event(source_ip="2001:db8::1")))
    (found,) = body["Records"]
    assert found["requestParameters"]["sourceIPAddress"] == "[2001:db8::1]"
    assert found["source"]["host"] == "[2001:db8::1]"


def test_blanks_of_a_relay_are_removed_from_minios_record() -> None:
    """Products that take a record a line, or find their way in it, would not take them."""
    text = rb'{"a":" \" : [\n , ","eventVersion":1e999,"s3":[[],{},-0.0,"\u003c"]}'
    loose = text.replace(b'":', b'"\t:\r\n ').replace(b',"', b' ,\n"').replace(b"[[", b" [ [ ")
    for raw in (text, loose):
        made = event(dialect="minio", stored=msgspec.Raw(raw))
        assert minio.records(made) == b'{"Records":[' + text + b"]}"


def test_listen_line_has_the_key_unescaped() -> None:
    line = minio.listen_line(event("a b/ü+.jpg", size=5))
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    (record,) = json.loads(line)["Records"]
    (parsed,) = json.loads(minio.records(event("a b/ü+.jpg", size=5)))["Records"]
    assert record["s3"]["object"].pop("key") == "a b/ü+.jpg"
    assert parsed["s3"]["object"].pop("key") == "a+b%2F%C3%BC%2B.jpg"
    assert record == parsed


@pytest.mark.parametrize("odd", ["1e999", "1" * 400, '"\\u0000"', "[" * 300 + "]" * 300])
def test_unread_fields_of_minios_record_stay_unchanged_in_a_listen_line(odd: str) -> None:
    body = recorded("minio/object-created-put").replace('"source": {', f'"source": {{"odd": {odd},')
    (own,) = sources.events(body)
    assert f'"odd":{odd}'.encode() in minio.listen_line(own)


PLAIN = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters='"\\'), max_size=8
) | st.sampled_from(["\ue000", "%s", "{}", "a b", "a/b", "0"])


@given(
    st.builds(
        Event,
        name=st.sampled_from(sorted(SINGLES)),
        bucket=PLAIN,
        key=PLAIN,
        time=st.just("2026-01-02T03:04:05.678Z"),
        sequencer=st.sampled_from(["", "0055AED6DCD90281E5"]),
        stored=st.just(msgspec.Raw(b"{}")),
        size=st.none() | st.integers(0, 9),
        etag=st.none() | PLAIN,
        version_id=st.none() | PLAIN,
        region=PLAIN,
        principal=PLAIN,
        owner=PLAIN,
        source_ip=PLAIN | st.just("2001:db8::1"),
        request_id=PLAIN,
        host_id=PLAIN,
        user_agent=PLAIN,
        content_type=st.sampled_from([None, "", "text/plain"]),
        metadata=st.sampled_from([None, {}, {"x-amz-meta-a": "b"}]),
        headers=st.sampled_from([None, {}, {"cache-control": "no-store"}]),
        dialect=st.sampled_from(["", "eventbridge"]),
    )
)
def test_plain_event_is_written_as_any_other(written: Event) -> None:
    plain = replace(written, plain=True)
    assert minio.log(plain) == minio.log(written)
    assert minio.records(plain) == minio.records(written)
