"""MinIO's bodies: what S3 tells of an object, in the words of the bodies captured from MinIO."""

import json
from typing import Any
from urllib.parse import unquote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bucketcast import sources
from bucketcast.event import Event
from bucketcast.shapes import minio
from tests.unit.made import event, recorded

CAPTURED = [
    "object-created-put",
    "object-created-put-key-space",
    "object-created-put-user-metadata",
    "object-created-put-tagging",
    "object-created-delete-tagging",
    "object-created-copy",
    "object-created-complete-multipart",
    "object-accessed-get",
    "object-restore-post",
    "object-removed-delete",
    "object-removed-multi-delete-1",
    "versioned-object-created-put",
    "versioned-object-removed-delete-marker-created",
]
ONLY_MINIO_KNOWS = {
    "responseElements": ("content-length", "x-minio-deployment-id", "x-minio-origin-endpoint"),
    "object": ("contentType", "userMetadata"),
}
TO_S3 = {
    "s3:ObjectCreated:PutTagging": "ObjectTagging:Put",
    "s3:ObjectCreated:DeleteTagging": "ObjectTagging:Delete",
}


def as_s3_tells_it(theirs: dict[str, Any]) -> Event:
    """The event of an S3 notification about the same request on the same object."""
    held = theirs["s3"]["object"]
    key = held["key"].replace("%2F", "/")
    name = theirs["eventName"]
    told = {
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "awsRegion": theirs["awsRegion"],
        "eventTime": theirs["eventTime"],
        "eventName": TO_S3.get(name, name.removeprefix("s3:")),
        "userIdentity": theirs["userIdentity"],
        "requestParameters": {
            "sourceIPAddress": theirs["requestParameters"]["sourceIPAddress"],
        },
        "responseElements": {
            name: theirs["responseElements"][name] for name in ("x-amz-request-id", "x-amz-id-2")
        },
        "s3": {
            "s3SchemaVersion": "1.0",
            "configurationId": "Bucketcast",
            "bucket": theirs["s3"]["bucket"],
            "object": {
                name: value
                for name, value in (held | {"key": key}).items()
                if name not in ONLY_MINIO_KNOWS["object"]
            },
        },
    }
    (read,) = sources.events(json.dumps({"Records": [told]}))
    return read


def without_what_s3_does_not_tell(theirs: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(json.dumps(theirs))
    for name in ONLY_MINIO_KNOWS["responseElements"]:
        made["responseElements"].pop(name, None)
    for name in ONLY_MINIO_KNOWS["object"]:
        made["s3"]["object"].pop(name, None)
    made["source"]["userAgent"] = ""
    return made


@pytest.mark.parametrize("name", CAPTURED)
def test_body_is_that_of_minio_field_by_field_and_in_its_order(name: str) -> None:
    theirs = json.loads(recorded(f"minio/{name}"))
    (their_record,) = theirs["Records"]
    expected = theirs | {"Records": [without_what_s3_does_not_tell(their_record)]}
    ours = minio.log(as_s3_tells_it(their_record))
    # Text and not objects are compared: the order of the fields is MinIO's too.
    assert json.dumps(json.loads(ours)) == json.dumps(expected)


@pytest.mark.parametrize("name", CAPTURED)
def test_stored_value_is_the_record_alone(name: str) -> None:
    (their_record,) = json.loads(recorded(f"minio/{name}"))["Records"]
    ours = json.loads(minio.records(as_s3_tells_it(their_record)))
    assert ours == {"Records": [without_what_s3_does_not_tell(their_record)]}


def held(made: Event) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(minio.records(made))["Records"][0]["s3"]["object"]
    return found


@pytest.mark.parametrize(
    ("key", "escaped"),
    [
        ("plain.txt", "plain.txt"),
        ("a/b/c.txt", "a%2Fb%2Fc.txt"),
        ("A-Z_a-z.0~9", "A-Z_a-z.0~9"),
        ("my report 1.txt", "my+report+1.txt"),
        ("a+b", "a%2Bb"),
        ("100%", "100%25"),
        ("a%2Fb", "a%252Fb"),
        ('say "hi"', "say+%22hi%22"),
        ("it's", "it%27s"),
        ("<&>", "%3C%26%3E"),
        ("a*b(c)!", "a%2Ab%28c%29%21"),
        ("tab\tline\n", "tab%09line%0A"),
        ("zero\0", "zero%00"),
        ("é", "%C3%A9"),
        ("😀", "%F0%9F%98%80"),
        ("\uffff", "%EF%BF%BF"),
        ("é" * 512, "%C3%A9" * 512),
        ("x" * 1024, "x" * 1024),
    ],
)
def test_record_escapes_the_key_and_the_body_says_it_plainly(key: str, escaped: str) -> None:
    body = json.loads(minio.log(event(key)))
    assert body["Records"][0]["s3"]["object"]["key"] == escaped
    assert body["Key"] == f"uploads/{key}"
    assert minio.path(event(key)) == f"uploads/{key}"


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_escaped_key_is_the_key_again_when_unescaped(key: str) -> None:
    escaped = held(event(key))["key"]
    assert unquote_plus(escaped, errors="strict") == key
    assert escaped.isascii()
    assert not set(escaped) & set("/ \"'<>&")


def test_empty_object_has_no_size() -> None:
    assert held(event(size=0, etag="d41d8cd98f00b204e9800998ecf8427e")) == {
        "key": "photos%2Fcat.jpg",
        "eTag": "d41d8cd98f00b204e9800998ecf8427e",
        "sequencer": "1",
    }


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("s3:ObjectRemoved:Delete", False),
        ("s3:ObjectRemoved:DeleteMarkerCreated", False),
        ("s3:ObjectRemoved:NoOP", False),
        ("s3:ObjectRemoved:DeleteAllVersions", True),
        ("s3:LifecycleDelMarkerExpiration:Delete", True),
        ("s3:ObjectCreated:Put", True),
    ],
)
def test_removal_says_nothing_of_size_and_etag(name: str, *, says: bool) -> None:
    """S3's delete marker carries the eTag of nothing; MinIO's carries none."""
    found = held(event(name=name, size=5, etag="abc", version_id="v1"))
    assert {"size", "eTag"} <= found.keys() if says else not {"size", "eTag"} & found.keys()
    assert found["versionId"] == "v1"


@pytest.mark.parametrize("version", [None, ""])
def test_object_without_version_has_no_version_id(version: str | None) -> None:
    assert "versionId" not in held(event(version_id=version))


def test_event_without_sequencer_still_has_the_field() -> None:
    assert held(event(sequencer=""))["sequencer"] == ""


def test_everything_that_s3_leaves_out_is_an_empty_text() -> None:
    body = json.loads(minio.log(sources.events(recorded("s3/put-bare"))[0]))
    (found,) = body["Records"]
    assert found["userIdentity"] == {"principalId": ""}
    assert found["requestParameters"] == {"principalId": "", "region": "", "sourceIPAddress": ""}
    assert found["responseElements"] == {"x-amz-id-2": "", "x-amz-request-id": ""}
    assert found["source"] == {"host": "", "port": "", "userAgent": ""}
