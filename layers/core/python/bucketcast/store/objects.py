"""What only an object knows, its metadata, tags, content type and storage class, asked of S3.

`HeadObject` and `GetObjectTagging`, once for each object and version of a batch and several at a
time. Without a version of its own the object may be another by now: its ETag tells, and the tags
are read before the head that vouches for them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import reduce
from http import HTTPStatus
from operator import or_
from typing import TYPE_CHECKING, Any, Final

import msgspec
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from bucketcast import telemetry
from bucketcast.conditions import FACTS, Fact
from bucketcast.event import Event
from bucketcast.names import NOTHING_HAPPENED, REMOVALS
from bucketcast.settings import ANY_BUCKET, ObjectFacts
from bucketcast.shown import Object, created, just_after
from bucketcast.store.heads import of_head

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

AT_ONCE: Final = 16
SECONDS: Final = 15.0
"""How long one batch may ask; the function has twice as long."""
SECONDS_FOR_SHOWN: Final = 5.0
"""How long it may ask what keys show: unlike the rest, that does not hold up its message."""
CLIENT: Final = Config(
    connect_timeout=2,
    read_timeout=5,
    retries={"mode": "standard", "total_max_attempts": 2},
    max_pool_connections=AT_ONCE,
)
"""For the S3 client: what is not answered soon is asked again with the message."""
_GONE: Final = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)
_OVERWRITTEN: Final = (None, "", "null")
"""Versions that the next object of the same key takes the place of."""
_CURE: Final = (
    "ingest needs s3:GetObject, s3:GetObjectVersion, s3:GetObjectTagging, "
    "s3:GetObjectVersionTagging and s3:ListBucket, which a deploy with object_facts gives; see the "
    "bucket's own policy"
)

_DENIED: Final = ("403", "AccessDenied")

Told = dict[str, Any]
"""Fields of an event; empty where the object is gone or cannot be looked at by anyone."""
_Object = tuple[str, str, str | None, str | None]


class Objects:
    """S3, as the function called `asker` asks it; `client` is shared by its threads."""

    def __init__(
        self, client: "S3Client", facts: ObjectFacts, asker: str, *, seconds: float = SECONDS
    ) -> None:
        self._client = client
        self._session = f":{asker}"
        self._buckets = facts.buckets
        self._seconds = seconds
        self._pool = ThreadPoolExecutor(AT_ONCE)
        self.mirrors = facts.mirrors
        self.wants: Mapping[str, Fact] = {
            arn: reduce(or_, (FACTS[name] for name in names))
            for arn, names in facts.targets.items()
        }

    def caused(self, event: Event) -> bool:
        """Whether it tells of a look at an object from here, which would lead to the next one."""
        return event.dialect == "cloudtrail" and event.principal.endswith(self._session)

    def told(self, asked: Sequence[tuple[Event, Fact]]) -> list[Event | None]:
        """Each event with what was asked of it, without where its object is gone.

        None is an event of which this cannot be told now: S3 refused, or did not answer.
        """
        wanted: dict[_Object, Fact] = {}
        for event, fact in asked:
            if self._is_there(event):
                object_ = _object(event)
                wanted[object_] = wanted.get(object_, fact) | fact
        futures = {self._pool.submit(self._look, *each): each[0] for each in wanted.items()}
        wait(futures, self._seconds)
        answers = {object_: _answer(future) for future, object_ in futures.items()}
        _log(answers)
        return [
            _with(event, answers[_object(event)]) if _object(event) in answers else event
            for event, _ in asked
        ]

    def uncovers(self, event: Event) -> bool:
        """Whether it is about one version, or marker, that went, so that another may show now.

        S3 does not tell of that one. Without a sequencer it would have no place among the others.
        """
        return (
            event.name == "s3:ObjectRemoved:Delete"
            and bool(event.version_id and event.sequencer)
            and self._may_look(event)
        )

    def shown(self, asked: Sequence[tuple[Event, Fact]]) -> list[Event | None]:
        """That the object was put which each key shows after such an event, and right after it.

        None is a key that shows nothing, or of which S3 did not tell: reconcile finds what it has.
        """
        futures = [self._pool.submit(self._show, event, fact) for event, fact in asked]
        wait(futures, SECONDS_FOR_SHOWN)
        answers = [_answer(future) for future in futures]
        _log_unseen([answer for answer in answers if isinstance(answer, Exception)])
        return [
            _put(event, answer) if answer and not isinstance(answer, Exception) else None
            for (event, _), answer in zip(asked, answers, strict=True)
        ]

    def _may_look(self, event: Event) -> bool:
        named = not self._buckets.isdisjoint((event.bucket, ANY_BUCKET))
        return named and event.key != "" and event.system == "aws:s3"

    def _is_there(self, event: Event) -> bool:
        """Whether there may be something to look at, and it may be looked at."""
        gone = event.name in REMOVALS or event.name == NOTHING_HAPPENED
        return not gone and self._may_look(event)

    def _show(self, event: Event, fact: Fact) -> Told:
        """What the key shows, with its version, and with its tags where they are asked for."""
        head = self._client.head_object(Bucket=event.bucket, Key=event.key)
        version = head.get("VersionId")
        found = of_head(head) | {"version_id": version}
        if Fact.TAGS in fact:
            which: Any = {"Bucket": event.bucket, "Key": event.key}
            which |= {"VersionId": version} if version else {}
            tags = self._client.get_object_tagging(**which)["TagSet"]
            found["tags"] = [(tag["Key"], tag["Value"]) for tag in tags]
        return found

    def _look(self, object_: _Object, fact: Fact) -> Told:
        bucket, key, version, etag = object_
        which: Any = {"Bucket": bucket, "Key": key} | ({"VersionId": version} if version else {})
        found: Told = {}
        if Fact.TAGS in fact:
            tags = self._client.get_object_tagging(**which)["TagSet"]
            found["tags"] = [(tag["Key"], tag["Value"]) for tag in tags]
        if Fact.HEAD in fact or (etag and version in _OVERWRITTEN):
            head = self._client.head_object(**which)
            if etag and head["ETag"].strip('"') != etag:
                return {}
            if Fact.HEAD in fact:
                found |= of_head(head)
        return found


def _object(event: Event) -> _Object:
    return event.bucket, event.key, event.version_id, event.etag


def _answer(future: "Future[Told]") -> Told | Exception:
    if not future.done():
        future.cancel()
        return TimeoutError("no answer in time")
    error = future.exception()
    if error is None:
        return future.result()
    if not isinstance(error, BotoCoreError | ClientError):
        raise error
    status = getattr(error, "response", {}).get("ResponseMetadata", {}).get("HTTPStatusCode")
    # 400 is an object under a key of the customer's own: nobody else will ever be told of it.
    return {} if status in (*_GONE, HTTPStatus.BAD_REQUEST) else error


def _put(after: Event, told: Told) -> Event | None:
    """The event of what a key shows, in the place right after another."""
    known = ("version_id", "size", "etag", "storage_class")
    found = Object(after.bucket, after.key, **{name: told[name] for name in known})
    more = {name: text for name, text in told.items() if name not in known}
    try:
        sequencer, time = just_after((after.sequencer, after.time))
    except ValueError:  # a time that no calendar has
        return None
    return created(found, sequencer=sequencer, time=time, by="ingest", told=more)


def _log_unseen(failed: Sequence[Exception]) -> None:
    if failed:
        telemetry.count(ObjectsUnseen=len(failed))
    for reason, count in Counter(map(_reason, failed)).items():
        telemetry.logger.error(
            "a version was removed, and what its key shows now could not be asked: mirrors lack "
            "it until it is put again or reconcile mends them",
            count=count,
            reason=reason,
        )


def _with(event: Event, answer: Told | Exception) -> Event | None:
    if isinstance(answer, Exception):
        return None
    lacking = {name: told for name, told in answer.items() if getattr(event, name) is None}
    return msgspec.structs.replace(event, **lacking)


def _log(answers: Mapping[_Object, Told | Exception]) -> None:
    """A line for all that nobody can tell of, and one for each reason why others stay; no key."""
    untold = [object_[0] for object_, answer in answers.items() if not answer]
    if untold:
        telemetry.count(ObjectsGone=len(untold))
        telemetry.logger.warning(
            "objects are gone, others by now or under a customer's key: what a rule asks of them "
            "counts as met",
            count=len(untold),
            bucket=untold[0],
        )
    failed = Counter(
        (_reason(answer), bucket)
        for (bucket, *_), answer in answers.items()
        if isinstance(answer, Exception)
    )
    for (reason, bucket), count in failed.items():
        telemetry.logger.error(
            "objects could not be looked at: their messages stay in the queue",
            count=count,
            bucket=bucket,
            reason=reason,
        )


def _reason(error: Exception) -> str:
    """Without the key, which the texts of S3 and botocore may name."""
    if not isinstance(error, ClientError):
        return type(error).__name__
    code = error.response.get("Error", {}).get("Code", "")
    cure = f"; {_CURE}" if code in _DENIED else ""
    return f"{error.operation_name}: {code}{cure}"
