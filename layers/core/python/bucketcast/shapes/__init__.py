"""Write an event in the dialect that its receiver reads, one module per dialect.

`minio` has MinIO's record and its wrappings, `aws` Amazon S3's record, `ceph` RGW's, and
`cloudevents` the S3 record as a CloudEvent, structured or binary. `records` has the common part of
the three records. `shape` returns the functions of a dialect by its name.
"""

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from bucketcast.event import Event
from bucketcast.shapes import aws, ceph, cloudevents, minio

Name = Literal["minio", "aws", "ceph", "cloudevents", "cloudevents-binary"]


class Shape(NamedTuple):
    """The functions that write an event: as a message, and as the value of a row or document.

    `attributes` go into the transport's headers, if the dialect has any.
    """

    message: Callable[[Event], bytes]
    value: Callable[[Event], bytes]
    content_type: str = "application/json"
    attributes: Callable[[Event], Mapping[str, str]] | None = None


def shape(name: Name, opaque_data: str = "") -> Shape:
    """Return the dialect of that name; `opaque_data` is for Ceph's record."""
    if name == "minio":
        return Shape(minio.log, minio.records)
    if name == "aws":
        return Shape(aws.message, aws.message)
    if name == "ceph":
        write = ceph.writer(opaque_data)
        return Shape(write, write)
    if name == "cloudevents":
        return Shape(cloudevents.structured, cloudevents.structured, cloudevents.STRUCTURED)
    return Shape(cloudevents.data, cloudevents.data, attributes=cloudevents.attributes)
