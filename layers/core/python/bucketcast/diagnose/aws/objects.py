"""The event of an object as S3 has it now, to be sent once more."""

import time
from typing import Any

from msgspec.structs import replace

from bucketcast.aws.clients import Aws, AwsError, aws_errors
from bucketcast.errors import BucketcastError
from bucketcast.event import Event
from bucketcast.ingest.aws.head_object import event_fields
from bucketcast.mirror.synthetic import Object, created, time_of
from bucketcast.rules.conditions import Fact

_GONE = ("404", "405", "NoSuchKey", "NoSuchVersion")


def event_of(bucket: str, key: str, version: str, facts: Fact, aws: Aws) -> Event:
    """Return the event of the upload of an object, or of its version unless that is "".

    `facts` are those to be read with it. It is older than any real event, so a mirror that has a
    newer one ignores it.

    Raises:
        BucketcastError: the object does not exist.
        AwsError: AWS did not answer, or refused.
    """
    address: Any = {"Bucket": bucket, "Key": key} | ({"VersionId": version} if version else {})
    try:
        with aws_errors():
            head = aws.s3.head_object(**address)
            tags = aws.s3.get_object_tagging(**address)["TagSet"] if Fact.TAGS in facts else None
    except AwsError as error:
        if error.code not in _GONE:
            raise
        raise BucketcastError(
            f"s3://{bucket}/{key} does not exist; if a mirror still has a row of it, `bucketcast "
            f"reconcile {bucket} --target T --repair` removes that"
        ) from None
    fields = event_fields(head)
    own = {each: fields.pop(each) for each in ("size", "etag", "storage_class")}
    modified = round(head["LastModified"].timestamp() * 1_000)
    object_ = Object(bucket, key, head.get("VersionId"), modified=modified, **own)
    known = fields if Fact.HEAD in facts else {}
    if tags is not None:
        known["tags"] = [(tag["Key"], tag["Value"]) for tag in tags]
    now = time_of(round(time.time() * 1_000))
    return replace(created(object_, by="send", facts=known), listed=now)
