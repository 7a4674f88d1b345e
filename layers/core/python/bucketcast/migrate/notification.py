"""Parse a bucket's notification XML: `GET ?notification`, or `mc admin cluster bucket export`."""

from dataclasses import replace

from bucketcast import targets
from bucketcast.destination import TargetArn
from bucketcast.migrate.parsed import Parsed
from bucketcast.notifications.api import conversion, document
from bucketcast.web.errors import S3Error


def read(text: str, name: str, parsed: Parsed, *, bucket: str) -> None:
    """Parse the document of the file with this name, as that of a bucket."""
    if not bucket:
        parsed.error(name, "missing bucket", "give it with --bucket NAME, one bucket per run")
        return
    try:
        given = document.read(text.encode(), _is_target, region=None)
    except S3Error as error:
        parsed.error(name, error.message, "allowed is a bucket's configuration in MinIO")
        return
    for queue in given.queues:
        if queue.id:
            parsed.leave_out(f"the Id '{queue.id}' of {bucket}", "rules get an id of their own")
    without_ids = [replace(queue, id="") for queue in given.queues]
    parsed.rules += conversion.rules(bucket, without_ids, stored=())
    for entry in given.notifications:
        parsed.leave_out(f"{name}: {entry.topic}", "it is a topic, which MinIO does not have")


def _is_target(arn: str) -> bool:
    return TargetArn.parse(arn).kind in targets.kinds()
