"""Object facts: an object's metadata, tags, content type and storage class, read from S3.

`HeadObject` and `GetObjectTagging`, once for each object and version of a batch and several at a
time (`ingest.aws.bucket_reads`). Without a version id the object may have been replaced: its ETag,
size and date show that, and the tags are read before the head that confirms them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import msgspec
from botocore.exceptions import ClientError

from bucketcast import telemetry
from bucketcast.destination import Destination
from bucketcast.event import Event, to_millis
from bucketcast.event.names import NOTHING_HAPPENED, REMOVALS
from bucketcast.ingest.aws.bucket_reads import Answer, BucketReads, Fields, Read
from bucketcast.ingest.aws.head_object import event_fields, tags_of
from bucketcast.ingest.routing import Wants
from bucketcast.mirror.registers import expires_version
from bucketcast.mirror.synthetic import Object, created, just_after
from bucketcast.rules.conditions import Fact, facts_of
from bucketcast.settings.environment import ANY_BUCKET, ObjectFacts

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

SECONDS_FOR_FACTS: Final = 5.0
"""What is not read by then is read with the next try: a slow bucket holds up no others."""
SECONDS_FOR_CURRENT: Final = 5.0
"""The longest time for reading current versions; other messages do not wait for it."""
_GONE: Final = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)
_OVERWRITTEN: Final = (None, "", "null")
"""Version ids of objects that the next put of their key replaces."""
_HINT: Final = (
    "ingest needs s3:GetObject, s3:GetObjectVersion, s3:GetObjectTagging, "
    "s3:GetObjectVersionTagging and s3:ListBucket, which a deploy with object_facts gives; see the "
    "bucket's own policy"
)

_DENIED: Final = ("403", "AccessDenied")
_MODIFIED: Final = "LastModified"
"""Stands among the fields of an object without a version: when it was put."""
_Object = tuple[str, str, str | None, str | None]


class ObjectReader:
    """Reads objects from S3 for the function of this name; `client` is shared by its threads.

    `deployed` returns True if the target of an ARN is deployed, `dynamic` what others want.
    """

    def __init__(
        self,
        client: "S3Client",
        facts: ObjectFacts,
        function: str,
        *,
        deployed: Callable[[str], bool],
        dynamic: Callable[[Destination], Wants],
    ) -> None:
        self._client = client
        self._session = f":{function}"
        self._facts = facts
        self._buckets = facts.buckets
        self._reads = BucketReads()
        self._deployed = deployed
        self._dynamic = dynamic
        self._of_deployed: dict[Destination, Wants | None] = {}

    def wants(self, to: Destination) -> Wants:
        """Return what a destination wants, deployed or dynamic."""
        if to not in self._of_deployed:
            self._of_deployed[to] = self._find_deployed(to.arn)
        deployed = self._of_deployed[to]
        return self._dynamic(to) if deployed is None else deployed

    def is_self_caused(self, event: Event) -> bool:
        """Return True if the event is of our own read of an object, which would cause the next."""
        return event.dialect == "cloudtrail" and event.principal.endswith(self._session)

    def enrich(self, requested: Sequence[tuple[Event, Fact]], seconds: float) -> list[Event | None]:
        """Return each event with the requested facts, or unchanged if its object is gone.

        None stands for an event whose facts are not available now: S3 refused, or did not answer
        in time.
        """
        facts: dict[_Object, Fact] = {}
        for event, fact in requested:
            if self._may_exist(event):
                object_ = _object(event)
                facts[object_] = facts.get(object_, fact) | fact
        reads = [
            Read(object_[0], object_[1], partial(_found, self._read, object_, fact))
            for object_, fact in facts.items()
        ]
        found = self._reads(reads, min(seconds, SECONDS_FOR_FACTS))
        answers = dict(zip(facts, found, strict=True))
        _log_gone(reads, answers.values())
        _log_failures(
            "objects could not be looked at: their messages stay in the queue",
            reads,
            answers.values(),
        )
        return [
            _with_facts(event, answers[_object(event)]) if _object(event) in answers else event
            for event, _ in requested
        ]

    def may_reveal_version(self, event: Event) -> bool:
        """Return True if a version or marker was removed, so that another may be current now.

        S3 sends no event about that version. Without a sequencer it could not be ordered. Lifecycle
        removes only versions that are not current, and markers that are alone.
        """
        return (
            event.name == "s3:ObjectRemoved:Delete"
            and not expires_version(event)
            and bool(event.version_id and event.sequencer)
            and self._may_read(event)
        )

    def read_current(
        self, requested: Sequence[tuple[Event, Fact]], seconds: float
    ) -> list[Event | None]:
        """Return synthetic puts of the keys' current versions, ordered after these events.

        None stands for a key without one, or that S3 did not return: reconcile repairs it.
        """
        reads = [
            Read(event.bucket, event.key, partial(_found, self._read_current, event, fact))
            for event, fact in requested
        ]
        answers = self._reads(reads, min(seconds, SECONDS_FOR_CURRENT))
        if failed := sum(isinstance(answer, Exception) for answer in answers):
            telemetry.measure(telemetry.INGRESS, ObjectsUnseen=failed)
        _log_failures(
            "a version was removed, and S3 does not say what its key shows now: mirrors lack "
            "it until it is put again or reconcile repairs them",
            reads,
            answers,
        )
        return [
            _put(event, answer) if answer and not isinstance(answer, Exception) else None
            for (event, _), answer in zip(requested, answers, strict=True)
        ]

    def _find_deployed(self, arn: str) -> Wants | None:
        if not self._deployed(arn):
            return None
        return Wants(facts_of(self._facts.targets.get(arn, ())), arn in self._facts.mirrors)

    def _may_read(self, event: Event) -> bool:
        is_listed = not self._buckets.isdisjoint((event.bucket, ANY_BUCKET))
        return is_listed and event.key != ""

    def _may_exist(self, event: Event) -> bool:
        """Return True if the object may exist, and may be read."""
        removed = event.name in REMOVALS or event.name == NOTHING_HAPPENED
        return not removed and self._may_read(event)

    def _read_current(self, event: Event, fact: Fact) -> Fields:
        """Return the object that the key shows, with its version, and its tags if requested."""
        head = self._client.head_object(Bucket=event.bucket, Key=event.key)
        version = head.get("VersionId")
        fields = event_fields(head) | {"version_id": version}
        if Fact.TAGS in fact:
            fields["tags"] = self._tags(_address(event.bucket, event.key, version))
        return fields

    def _tags(self, address: Any) -> list[tuple[str, str]]:
        return tags_of(self._client.get_object_tagging(**address))

    def _read(self, object_: _Object, fact: Fact) -> Fields:
        bucket, key, version, etag = object_
        address = _address(bucket, key, version)
        fields: Fields = {}
        if Fact.TAGS in fact:
            fields["tags"] = self._tags(address)
        if Fact.HEAD in fact or version in _OVERWRITTEN:
            head = self._client.head_object(**address)
            if etag and head["ETag"].strip('"') != etag:
                return {}
            if Fact.HEAD in fact:
                fields |= event_fields(head)
            if not etag and version in _OVERWRITTEN:
                fields[_MODIFIED] = head.get(_MODIFIED)
        return fields


def _address(bucket: str, key: str, version: str | None) -> Any:
    """Return S3's parameters for an object, or for a version of it."""
    return {"Bucket": bucket, "Key": key} | ({"VersionId": version} if version else {})


def _object(event: Event) -> _Object:
    return event.bucket, event.key, event.version_id, event.etag


def _found(read: Callable[..., Fields], *arguments: Any) -> Fields:
    """Return what a read finds; nothing if the object is gone, or nobody of ours may read it."""
    try:
        return read(*arguments)
    except ClientError as error:
        # 400: the object is encrypted with a customer's key, which we do not have.
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        if status in (*_GONE, HTTPStatus.BAD_REQUEST):
            return {}
        raise


def _put(after: Event, fields: Fields) -> Event | None:
    """Return the put of a key's current version, ordered right after another event."""
    names = ("version_id", "size", "etag", "storage_class")
    object_ = Object(after.bucket, after.key, **{name: fields[name] for name in names})
    facts = {name: value for name, value in fields.items() if name not in names}
    try:
        sequencer, time = just_after((after.sequencer, after.time))
    except ValueError:  # an invalid date
        return None
    return created(object_, sequencer=sequencer, time=time, by="ingest", facts=facts)


def _with_facts(event: Event, answer: Answer) -> Event | None:
    if isinstance(answer, Exception):
        return None
    if _was_replaced(event, answer):
        return event
    missing = {
        name: value
        for name, value in answer.items()
        if name != _MODIFIED and getattr(event, name) is None
    }
    return msgspec.structs.replace(event, **missing)


def _was_replaced(event: Event, answer: Fields) -> bool:
    """Return True if the object was replaced after an event that names no version and no ETag."""
    put: datetime | None = answer.get(_MODIFIED)
    if put is None:
        return False
    size = answer.get("size", event.size)
    # S3 truncates LastModified to whole seconds.
    return to_millis(f"{put:%Y-%m-%dT%H:%M:%SZ}") > event.time or event.size not in (None, size)


def _log_gone(reads: Sequence[Read], answers: Iterable[Answer]) -> None:
    gone = [read.bucket for read, answer in zip(reads, answers, strict=True) if not answer]
    if gone:
        telemetry.measure(telemetry.INGRESS, ObjectsGone=len(gone))
        telemetry.logger.warning(
            "objects are gone, others by now or under a customer's key: what a rule asks of them "
            "counts as met",
            count=len(gone),
            bucket=gone[0],
        )


def _log_failures(text: str, reads: Sequence[Read], answers: Iterable[Answer]) -> None:
    """Log one line for each bucket and reason, without keys."""
    failed = Counter(
        (read.bucket, _reason(answer))
        for read, answer in zip(reads, answers, strict=True)
        if isinstance(answer, Exception)
    )
    for (bucket, reason), count in failed.items():
        telemetry.logger.error(text, count=count, bucket=bucket, reason=reason)


def _reason(error: Exception) -> str:
    """Return the reason without the key, which texts of S3 and botocore may contain."""
    if not isinstance(error, ClientError):
        return type(error).__name__
    code = error.response.get("Error", {}).get("Code", "")
    hint = f"; {_HINT}" if code in _DENIED else ""
    return f"{error.operation_name}: {code}{hint}"
