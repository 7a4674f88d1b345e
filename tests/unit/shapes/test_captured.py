"""Every body captured from MinIO and Ceph RGW, beside what we write of the same event.

Once from MinIO's own record, and once from S3's record of the same request. What S3 does not report
is listed in `UNREPORTED` with the reason; all else has to be there, in the same order.
"""

import json
from collections.abc import Iterator
from fnmatch import fnmatch
from typing import Any

import msgspec
import pytest

from bucketcast import sources
from bucketcast.event import Event
from bucketcast.ingest.aws.head_object import event_fields
from bucketcast.shapes import shape
from tests.unit.samples import RECORDED, recorded

Document = dict[str, Any]
BODIES = sorted(
    f"{dialect}/{path.stem}"
    for dialect in ("minio", "ceph")
    for path in (RECORDED / dialect).glob("*.json")
)
UNREPORTED = {
    ("minio/*", "responseElements/x-minio-deployment-id"): "there is no such deployment",
    ("minio/*", "responseElements/x-minio-origin-endpoint"): "there is no such deployment",
    ("minio/*", "responseElements/content-length"): "S3 does not tell it",
    ("minio/*object-[cr]*", "source/userAgent"): "S3 does not tell it; CloudTrail does, of reads",
    ("minio/object-accessed-*", "eventTime"): "CloudTrail's times have no fractions",
    ("minio/object-accessed-*", "s3/object/sequencer"): "CloudTrail has none",
    ("minio/listen-*", "eventTime"): "CloudTrail's times have no fractions",
    ("minio/listen-*", "s3/object/sequencer"): "CloudTrail has none",
    (
        "minio/object-restore-post",
        "s3/object/userMetadata/X-Amz-Restore-Expiry-Days",
    ): "MinIO's own book-keeping",
    (
        "minio/object-restore-post",
        "s3/object/userMetadata/X-Amz-Restore-Request-Date",
    ): "MinIO's own book-keeping",
    ("minio/object-restore-post", "s3/object/userMetadata/etag"): "MinIO's own book-keeping",
    ("ceph/*", "eventTime"): "S3's times have three decimals, RGW's six",
    ("ceph/*", "eventId"): "the time at which RGW made the message, and an ETag that may repeat",
    ("ceph/*", "s3/bucket/id"): "RGW's name for the bucket in its own pools",
    ("ceph/*", "s3/object/metadata/x-amz-content-sha256"): "a header of the request",
    ("ceph/*", "s3/object/metadata/x-amz-date"): "a header of the request",
    ("ceph/*-copy", "s3/object/metadata/x-amz-copy-source"): "a header of the request",
}
"""What differs, by body and path, and why; each is looked for in every body that it fits."""
ONLY_THERE = {"minio/scanner-many-versions": "S3 has no scanner; ours writes MinIO's dialect"}
CALLS = {
    "s3:ObjectAccessed:Get": "GetObject",
    "s3:ObjectAccessed:Head": "HeadObject",
    "s3:BucketCreated:*": "CreateBucket",
}
AS_S3_SAYS = {
    "s3:ObjectCreated:PutTagging": "ObjectTagging:Put",
    "s3:ObjectCreated:DeleteTagging": "ObjectTagging:Delete",
}
OF_HEAD = {
    "content-type": "ContentType",
    "cache-control": "CacheControl",
    "content-disposition": "ContentDisposition",
    "content-encoding": "ContentEncoding",
    "content-language": "ContentLanguage",
    "x-amz-restore": "Restore",
}


def written(one: Event, dialect: str, **more: str) -> Document:
    document: Document = json.loads(shape(dialect, **more).message(one))  # type: ignore[arg-type]
    return document


@pytest.mark.parametrize("name", [name for name in BODIES if name.startswith("minio/")])
def test_record_of_a_server_is_sent_whole(name: str) -> None:
    theirs = json.loads(recorded(name))
    (one,) = sources.events(recorded(name))
    ours = written(one, "minio")
    if name.startswith("minio/listen-"):  # which has no more around the record
        assert (ours.pop("EventName"), ours.pop("Key")) == ("s3:BucketCreated:*", "gone/")
    assert json.dumps(ours) == json.dumps(theirs)


@pytest.mark.parametrize("name", sorted(set(BODIES) - ONLY_THERE.keys()))
def test_event_of_another_source_is_written_like_the_servers_record(name: str) -> None:
    dialect, theirs = name.partition("/")[0], json.loads(recorded(name))
    record = theirs["Records"][0]
    if dialect == "minio":
        ours = written(from_amazon(record), dialect)
        if name.startswith("minio/listen-"):
            del ours["EventName"], ours["Key"]
    else:
        ours = written(by_rgw(record), dialect, opaque_data=record["opaqueData"])
    for path in unreported(name):
        without(theirs["Records"][0], path)
        without(ours["Records"][0], path)
    # Text and not objects are compared: the order of the fields is the server's too.
    assert json.dumps(ours, indent=1) == json.dumps(theirs, indent=1)


@pytest.mark.parametrize(("pattern", "path"), UNREPORTED)
def test_values_listed_as_unreported_are_in_a_body(pattern: str, path: str) -> None:
    bodies = [json.loads(recorded(name)) for name in BODIES if fnmatch(name, pattern)]
    assert any(without(body["Records"][0], path) for body in bodies)


def unreported(name: str) -> Iterator[str]:
    return (path for pattern, path in UNREPORTED if fnmatch(name, pattern))


def without(record: Document, path: str) -> bool:
    """Remove what is at the path and return whether it existed."""
    *parents, last = path.split("/")
    found: Any = record
    for parent in parents:
        found = found.get(parent, {})
    if isinstance(found, list):  # of pairs, as RGW writes maps
        kept = [pair for pair in found if pair["key"] != last]
        was_there = len(kept) < len(found)
        found[:] = kept
        return was_there
    return found.pop(last, None) is not None


def by_rgw(theirs: Document) -> Event:
    """The event of a record of RGW's, as if S3 had reported all of it."""
    s3, response = theirs["s3"], theirs["responseElements"]
    s3_object = s3["object"]
    seconds, nanoseconds = (
        bytes.fromhex(s3_object["sequencer"])[at : at + 4][::-1].hex() for at in (0, 4)
    )
    pairs = ((pair["key"], pair["val"]) for pair in s3_object["metadata"])
    return Event(
        name=f"s3:{theirs['eventName']}",
        bucket=s3["bucket"]["name"],
        key=s3_object["key"],
        time=theirs["eventTime"],
        sequencer=seconds + nanoseconds,
        stored=msgspec.Raw(b"{}"),
        size=s3_object["size"],
        etag=s3_object["eTag"],
        version_id=s3_object["versionId"],
        region=theirs["awsRegion"],
        principal=theirs["userIdentity"]["principalId"],
        owner=s3["bucket"]["ownerIdentity"]["principalId"],
        source_ip=theirs["requestParameters"]["sourceIPAddress"],
        request_id=response["x-amz-request-id"],
        host_id=response["x-amz-id-2"],
        metadata={key: value for key, value in pairs if key.startswith("x-amz-meta-")},
        tags=[(pair["key"], pair["val"]) for pair in s3_object["tags"]],
        dialect="eventbridge",
        rule=s3["configurationId"],
    )


def from_amazon(theirs: Document) -> Event:
    """The event of the same request on the same object in S3, with what S3 says when asked."""
    convert = by_cloudtrail if theirs["eventName"] in CALLS else by_s3
    (one,) = sources.events(json.dumps(convert(theirs)))
    if not theirs["s3"]["object"].get("userMetadata"):
        return one
    facts = event_fields(head(theirs["s3"]["object"]))
    lacking = {field: value for field, value in facts.items() if getattr(one, field) is None}
    return msgspec.structs.replace(one, **lacking)


def head(theirs: Document) -> Document:
    """The answer to a HeadObject, for an object that MinIO reported."""
    listed = theirs["userMetadata"]
    prefix = "x-amz-meta-"
    names = {name.lower(): name for name in listed}
    return {
        "ContentLength": theirs["size"],
        "ETag": f'"{theirs["eTag"]}"',
        **{OF_HEAD[name]: text for name, text in listed.items() if name in OF_HEAD},
        "Metadata": {
            lower.removeprefix(prefix): listed[name]
            for lower, name in names.items()
            if lower.startswith(prefix)
        },
    }


def by_s3(theirs: Document) -> Document:
    s3_object, response = theirs["s3"]["object"], theirs["responseElements"]
    key = s3_object["key"].replace("%2F", "/")
    copied = {
        name: s3_object[name]
        for name in ("size", "eTag", "versionId", "sequencer")
        if name in s3_object
    }
    return {
        "Records": [
            {
                "eventVersion": "2.1",
                "eventSource": "aws:s3",
                "awsRegion": theirs["awsRegion"],
                "eventTime": theirs["eventTime"],
                "eventName": AS_S3_SAYS.get(
                    theirs["eventName"], theirs["eventName"].removeprefix("s3:")
                ),
                "userIdentity": theirs["userIdentity"],
                "requestParameters": {
                    "sourceIPAddress": theirs["requestParameters"]["sourceIPAddress"]
                },
                "responseElements": {
                    name: response[name] for name in ("x-amz-request-id", "x-amz-id-2")
                },
                "s3": {
                    "s3SchemaVersion": "1.0",
                    "configurationId": "Bucketcast",
                    "bucket": theirs["s3"]["bucket"],
                    "object": {"key": key, **copied},
                },
            }
        ]
    }


def by_cloudtrail(theirs: Document) -> Document:
    made: Document = json.loads(recorded("cloudtrail/get-object"))
    bucket, response = theirs["s3"]["bucket"], theirs["responseElements"]
    made["detail"] |= {
        "eventName": CALLS[theirs["eventName"]],
        "eventTime": theirs["eventTime"].partition(".")[0] + "Z",
        "awsRegion": theirs["awsRegion"],
        "userIdentity": {"principalId": theirs["userIdentity"]["principalId"]},
        "requestParameters": {
            "bucketName": bucket["name"],
            "key": theirs["s3"]["object"]["key"].replace("%2F", "/"),
        },
        "additionalEventData": {"x-amz-id-2": response["x-amz-id-2"]},
        "requestID": response["x-amz-request-id"],
        "recipientAccountId": bucket["ownerIdentity"]["principalId"],
        "sourceIPAddress": theirs["requestParameters"]["sourceIPAddress"],
        "userAgent": f"[{theirs['source']['userAgent']}]",
    }
    return made
