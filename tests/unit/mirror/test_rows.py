"""A row is read from the parts of a record that a search answers with, whatever the others are."""

import json
from typing import Any

import pytest

from bucketcast.event import padded
from bucketcast.mirror.rows import StoredRow, read
from bucketcast.shapes.minio import records
from bucketcast.targets.elasticsearch.state import _PARTS
from tests.unit.samples import TIME, event

PUT = event("a b", sequencer="7", size=3, etag="e7", version_id="v1")
ROW = StoredRow("uploads/a b", padded("7"), TIME, "e7", 3, "v1")


def record(**changes: Any) -> dict[str, Any]:
    (whole,) = json.loads(records(PUT))["Records"]
    return {**whole, **changes}


def row_of(record: dict[str, Any]) -> StoredRow:
    return read(json.dumps({"Records": [record]}))


def test_a_row_is_read_from_the_parts_that_a_search_answers_with() -> None:
    parts: dict[str, Any] = {}
    for part in _PARTS:
        value, into = record(), parts
        *parents, name = part.split(".")[1:]
        for parent in parents:
            value, into = value[parent], into.setdefault(parent, {})
        into[name] = value[name]
    assert row_of(parts) == ROW


@pytest.mark.parametrize("part", sorted(record().keys() - {"eventTime", "s3"}))
def test_a_part_that_is_not_read_may_be_null(part: str) -> None:
    assert row_of(record(**{part: None})) == ROW


def test_an_unknown_size_stays_unknown_and_null_is_as_absent() -> None:
    s3 = record()["s3"]
    nothing = dict.fromkeys(("eTag", "versionId", "sequencer"))
    unknown = {**s3, "object": {**s3["object"], **nothing, "size": -1}}
    assert row_of(record(s3=unknown)) == StoredRow("uploads/a b", "", TIME, size=-1)
