"""Amazon's, Ceph's and CloudEvents' bodies, and that no dialect loses an event on its way."""

import json
from typing import Any, get_args
from urllib.parse import unquote_plus

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bucketcast import sources
from bucketcast.event import Event
from bucketcast.event.names import SINGLES
from bucketcast.shapes import Name, cloudevents, shape
from tests.unit.samples import RECORDED, event, recorded

BODIES = sorted(
    f"{path.parent.name}/{path.stem}"
    for folder in ("s3", "eventbridge", "cloudtrail", "minio")
    for path in (RECORDED / folder).glob("*.json")
    if sources.events(path.read_text(encoding="utf-8"))
)
KEYS = ("a b", "a+b", "100%2F", "é/😀", 'it\'s "quoted"', "back\\slash", "a/../b", "k" * 1024)
SAME = ("name", "bucket", "key", "time", "version_id", "principal", "request_id", "region")


def first(name: str) -> Event:
    return sources.events(recorded(name))[0]


def written(one: Event, name: Name, **more: str) -> Any:
    return json.loads(shape(name, **more).message(one))


def read_again(one: Event, name: Name) -> Event:
    """What a reader of that dialect makes of the body, as we read it ourselves."""
    document = written(one, name)
    if name in ("cloudevents", "cloudevents-binary"):
        record = document["data"] if name == "cloudevents" else document
        document = record if "detail" in record else {"Records": [record]}
    (found,) = sources.events(json.dumps(document))
    return found


READ_AGAIN = [name for name in get_args(Name) if name != "ceph"]
"""Shapes of which a source reads the records."""


@pytest.mark.parametrize("name", READ_AGAIN)
@pytest.mark.parametrize("body", BODIES)
def test_an_event_of_any_source_survives_any_shape(body: str, name: Name) -> None:
    before = first(body)
    after = read_again(before, name)
    for field in SAME:
        assert getattr(after, field) == (getattr(before, field) or getattr(after, field)), field
    assert after.size in {before.size, 0, None}
    if after.sequencer:
        assert after.order[0] == before.order[0]


@given(
    st.builds(
        Event,
        name=st.sampled_from(sorted(SINGLES)),
        bucket=st.from_regex(r"[a-z0-9.-]{3,63}", fullmatch=True),
        key=st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
        time=st.just("2026-01-02T03:04:05.678Z"),
        sequencer=st.from_regex(r"[0-9A-F]{0,16}", fullmatch=True),
        stored=st.just(msgspec.Raw(b"{}")),
        size=st.none() | st.integers(0, 2**63 - 1),
        etag=st.none() | st.just("d41d8cd98f00b204e9800998ecf8427e"),
        version_id=st.none() | st.just("v1"),
        principal=st.text(st.characters(exclude_categories=["Cs"]), max_size=10),
        request_id=st.just("R"),
        dialect=st.sampled_from(["eventbridge", "cloudtrail"]),
    ),
    st.sampled_from(READ_AGAIN),
)
def test_shaped_event_can_be_read_again(before: Event, name: Name) -> None:
    after = read_again(before, name)
    for field in ("bucket", "key", "time", "principal", "request_id"):
        assert getattr(after, field) == getattr(before, field), field
    assert after.order[0].strip("0") == before.order[0].strip("0")


@pytest.mark.parametrize("body", [name for name in BODIES if name.startswith("s3/")])
def test_record_of_s3_is_sent_byte_for_byte(body: str) -> None:
    one = first(body)
    assert shape("aws").message(one) == b'{"Records":[%b]}' % bytes(one.record)


def test_ceph_sorts_metadata_whatever_the_order_of_the_source() -> None:
    metadata = {"x-amz-meta-b": "1", "x-amz-meta-a": "2"}
    one = event("photo", metadata=metadata)
    written_in_order = written(one, "ceph")["Records"][0]["s3"]["object"]["metadata"]
    assert [pair["key"] for pair in written_in_order] == ["x-amz-meta-a", "x-amz-meta-b"]


@pytest.mark.parametrize(
    "name", ["intelligent-tiering", "lifecycle-transition", "restore-completed"]
)
def test_an_event_from_eventbridge_has_the_data_of_s3s_own_record(name: str) -> None:
    (own,) = json.loads(recorded(f"s3/{name}"))["Records"]
    (record,) = written(first(f"eventbridge/{name}"), "aws")["Records"]
    wanted = {field: own[field] for field in own if field.endswith(("Data", "Name"))}
    assert {field: record.get(field) for field in wanted} == wanted


@pytest.mark.parametrize(
    ("region", "partition"),
    [("eu-west-1", "aws"), ("cn-north-1", "aws-cn"), ("us-gov-west-1", "aws-us-gov"), ("", "aws")],
)
def test_the_arn_of_a_bucket_is_in_the_partition_of_its_region(region: str, partition: str) -> None:
    (record,) = written(event(region=region, dialect="eventbridge"), "aws")["Records"]
    assert record["s3"]["bucket"]["arn"] == f"arn:{partition}:s3:::uploads"


def test_cloudevents_has_the_attributes_of_the_s3_adapter() -> None:
    one = first("s3/put-2.1")
    document = written(one, "cloudevents")
    record = json.loads(bytes(one.record))
    response = record["responseElements"]
    request, host = response["x-amz-request-id"], response["x-amz-id-2"]
    assert document["id"] == f"{request}.{host}.{one.id[:16]}"
    assert document["source"] == f"aws:s3.{record['awsRegion']}.{record['s3']['bucket']['name']}"
    assert document["specversion"] == "1.0"
    assert document["type"] == "com.amazonaws.s3.ObjectCreated:Put"
    assert document["datacontenttype"] == "application/json"
    assert document["subject"] == record["s3"]["object"]["key"]
    assert document["time"] == record["eventTime"]
    assert document["data"] == record
    assert document["sequence"] == one.order[0]
    binary = shape("cloudevents-binary")
    assert json.loads(binary.message(one)) == record
    assert binary.attributes is not None
    del document["data"], document["datacontenttype"]  # which is the transport's content type
    assert binary.attributes(one) == document


def test_a_subject_is_decoded_as_s3_encodes_keys() -> None:
    for key in KEYS:
        document = written(event(key, dialect="eventbridge"), "cloudevents")
        assert unquote_plus(document["subject"]) == key


def test_http_header_escapes_the_characters_of_the_binding() -> None:
    plain = "aws:s3.eu-central-1.b!#$&'()*+,/:;=?@[]\\^_`{|}~"
    escaped = "%20%22%25%22%C3%A9%0D%0A%F0%9F%98%80"
    assert cloudevents.in_header(f'{plain} "%"é\r\n😀') == plain + escaped
