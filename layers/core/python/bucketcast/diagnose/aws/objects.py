"""The event of an object as S3 has it now, to be sent once more."""

import time
from typing import Any

from botocore.exceptions import ClientError
from msgspec.structs import replace

from bucketcast.aws.clients import Aws
from bucketcast.delivery.queue import code_of
from bucketcast.errors import BucketcastError
from bucketcast.event import Event
from bucketcast.ingest.aws.head_object import object_of, tags_of
from bucketcast.mirror.synthetic import created, time_of
from bucketcast.rules.conditions import Fact

_GONE = ("404", "405", "NoSuchKey", "NoSuchVersion")


def event_of(bucket: str, key: str, version: str, facts: Fact, aws: Aws) -> Event:
    """Return the event of the upload of an object, or of its version unless that is "".

    `facts` are those to be read with it. It is older than any real event, so a mirror that has a
    newer one ignores it.

    Raises:
        BucketcastError: the object does not exist.
    """
    address: Any = {"Bucket": bucket, "Key": key} | ({"VersionId": version} if version else {})
    try:
        head = aws.s3.head_object(**address)
        answer = aws.s3.get_object_tagging(**address) if Fact.TAGS in facts else None
    except ClientError as error:
        if code_of(error) not in _GONE:
            raise
        raise BucketcastError(
            f"s3://{bucket}/{key} does not exist; if a mirror still has a row of it, `bucketcast "
            f"reconcile {bucket} --target T --repair` removes that"
        ) from None
    object_, fields = object_of(bucket, key, head)
    known = fields if Fact.HEAD in facts else {}
    if answer:
        known["tags"] = tags_of(answer)
    now = time_of(round(time.time() * 1_000))
    return replace(created(object_, by="send", facts=known), listed=now)
