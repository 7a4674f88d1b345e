"""`?notification` of a bucket: the rules of a deployment, read and written as S3's XML.

The first configuration that is written attaches a bucket. An empty one removes our rules; others'
entries in the bucket's notifications are left alone.

`?notification=ID` reads or deletes one, as with Ceph. boto3 with Ceph's extended model sends
`?notification&notification-id=ID`, which RGW reads as all.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Final

from msgspec.structs import replace

from bucketcast import deployment as deployed
from bucketcast.aws.clients import Aws, AwsError, aws_errors
from bucketcast.deployment import Deployed
from bucketcast.destination import Destination
from bucketcast.errors import BucketcastError
from bucketcast.notifications import topic_configuration as notification
from bucketcast.notifications.api import conversion, document
from bucketcast.notifications.api.checks import bindable, check_supported, require_logged
from bucketcast.notifications.api.document import Document
from bucketcast.notifications.aws.access_events import AccessEvents
from bucketcast.notifications.aws.attachments import Attachments
from bucketcast.notifications.topic_configuration import Notification
from bucketcast.rules import Rule
from bucketcast.state.rules import Rules
from bucketcast.telemetry import logger
from bucketcast.users import User
from bucketcast.web import xml
from bucketcast.web.authentication import AuthenticatedRequest
from bucketcast.web.errors import S3Error
from bucketcast.web.request import RawRequest
from bucketcast.web.responses import Handler, Send, send_response

QUERY: Final = "notification"
_ONE: Final = "notification-id"
_MINIOS: Final = "MinIO ("
"""The prefix of MinIO clients' user agents; they write back all of what they read."""
_MISSING: Final = ("404", "NoSuchBucket")


class Notifications:
    """The notification API of one deployment."""

    def __init__(self, stack: str, aws: Aws, region: str) -> None:
        self._stack = stack
        self._aws = aws
        self._region = region

    def answers(self, call: RawRequest) -> Handler | None:
        """Return the handler of a call; None if it is not about notifications.

        Raises:
            S3Error: it is, with an unsupported method.
        """
        if not call.bucket or call.key or QUERY not in call.params:
            return None
        answer = {"GET": self._get, "PUT": self._put, "DELETE": self._delete}.get(call.method)
        if answer is None:
            # Never proxied to S3, where it would apply to the whole bucket.
            raise S3Error("MethodNotAllowed")
        return answer

    async def _get(self, admitted: AuthenticatedRequest, send: Send) -> None:
        call = admitted.call
        await send_response(
            send, await asyncio.to_thread(self.get, call.bucket, requested_id(call))
        )

    async def _put(self, admitted: AuthenticatedRequest, send: Send) -> None:
        call = admitted.call
        await asyncio.to_thread(self.exists, call.bucket)
        if requested_id(call):
            raise S3Error("InvalidArgument", "PUT ?notification takes no Id: the document has them")
        if not admitted.body.payload.length:
            raise S3Error("MissingContentLength")
        text = await admitted.body.read(xml.MAX_BYTES)
        whole = call.headers.get("user-agent", "").startswith(_MINIOS)
        await asyncio.to_thread(self.put, call.bucket, text, admitted.user, whole=whole)
        await send_response(send)

    async def _delete(self, admitted: AuthenticatedRequest, send: Send) -> None:
        call = admitted.call
        await asyncio.to_thread(self.delete, call.bucket, requested_id(call))
        await send_response(send, status=HTTPStatus.NO_CONTENT)

    def exists(self, bucket: str) -> None:
        """Check that the bucket exists.

        Raises:
            S3Error: it does not exist, or access is denied.
        """
        with _answered():
            try:
                with aws_errors():
                    self._aws.s3.head_bucket(Bucket=bucket)
            except AwsError as error:
                if error.code in _MISSING:
                    raise S3Error("NoSuchBucket", BucketName=bucket) from None
                raise

    def get(self, bucket: str, id: str = "") -> bytes:  # noqa: A002 - Ceph's word
        """Return the configuration, or the part with this Id.

        Rules whose target is not deployed are left out; notifications outlive their topic.

        Raises:
            S3Error: the bucket or Id does not exist, or AWS does not answer.
        """
        self.exists(bucket)
        with _answered():
            deployment = deployed.find(self._stack, self._aws)
            known = set(_for_queues(deployment))
            stored = Rules(deployment.state_table, self._aws.dynamodb).in_order(bucket)
        if id:
            stored = [rule for rule in stored if conversion.shown_id(rule) == id]
            if not stored:
                raise S3Error("NoSuchKey", f"{bucket} has no notification {id}", Key=id)
        return document.written(
            [conversion.configuration(rule) for rule in stored if rule.arn in known],
            [
                notification.notification(rule)
                for rule in stored
                if notification.is_notification(rule)
            ],
        )

    def put(self, bucket: str, text: bytes, user: User, *, whole: bool = False) -> None:
        """Store a configuration; `conversion.exchanged` merges it with the stored rules.

        Raises:
            S3Error: it is invalid, or the bucket cannot be attached; nothing changed.
        """
        with _answered():
            deployment = deployed.find(self._stack, self._aws)
            given = document.read(text, _for_queues(deployment), self._region)
            self._store(deployment, bucket, given, user, whole=whole)

    def add(self, bucket: str, given: Sequence[Notification], user: User) -> None:
        """Store notifications of topics beside the bucket's others.

        Raises:
            S3Error: as for `put`, or the bucket does not exist.
        """
        self.exists(bucket)
        with _answered():
            deployment = deployed.find(self._stack, self._aws)
            self._store(deployment, bucket, Document([], [*given]), user)

    def _store(
        self, deployment: Deployed, bucket: str, given: Document, user: User, *, whole: bool = False
    ) -> None:
        rules = Rules(deployment.state_table, self._aws.dynamodb)
        logs = AccessEvents(deployment, self._aws)

        def edit(stored: list[Rule]) -> list[Rule]:
            wanted = conversion.exchanged(bucket, given, stored, whole=whole)
            check_supported(wanted, stored, deployment)
            return wanted

        stored = rules.in_order(bucket)
        given = self._bound(bucket, given, stored, user, deployment, whole=whole)
        require_logged(edit(stored), stored, lambda: logs.are_on(bucket))
        if not given.empty:
            self._attach(deployment, bucket)
        rules.change(bucket, edit)
        self._follow(deployment, bucket)

    def attach(self, bucket: str) -> None:
        """Attach a bucket that is not attached yet.

        Raises:
            S3Error: the bucket does not exist, or cannot be attached.
        """
        self.exists(bucket)
        with _answered():
            self._attach(deployed.find(self._stack, self._aws), bucket)

    def _attach(self, deployment: Deployed, bucket: str) -> None:
        buckets = Attachments(deployment, self._aws)
        if not (status := buckets.look(bucket)).via and not status.by_deploy:
            buckets.attach(bucket, "sqs")

    def delete(self, bucket: str, id: str = "") -> None:  # noqa: A002 - Ceph's word
        """Remove the rules of this Id, or all; an unknown Id is no error.

        Raises:
            S3Error: there is no such bucket, or AWS refused.
        """
        self.exists(bucket)
        with _answered():
            deployment = deployed.find(self._stack, self._aws)
            Rules(deployment.state_table, self._aws.dynamodb).change(
                bucket, lambda stored: conversion.without(stored, id) if id else []
            )
        self._follow(deployment, bucket)

    def _bound(
        self,
        bucket: str,
        given: Document,
        stored: Sequence[Rule],
        user: User,
        deployment: Deployed,
        *,
        whole: bool,
    ) -> Document:
        """Return the document with topics' ARNs as stored, all of which this user may use.

        Stored notifications that a client only writes back are not checked again: their topic may
        be gone, or another user's.
        """
        same = {rule.id for rule in stored} if whole else set()
        bound = [
            each
            if notification.rule(bucket, meant).id in same
            else replace(each, topic=bindable(each.topic, user, deployment, self._aws))
            for each, meant in zip(
                given.notifications, conversion.given_back(given.notifications, stored), strict=True
            )
        ]
        return Document(given.queues, bound)

    def _follow(self, deployment: Deployed, bucket: str) -> None:
        """Update the trail for the new rules; its errors do not undo the rules."""
        try:
            AccessEvents(deployment, self._aws).follow(bucket)
        except BucketcastError as error:
            logger.error("the trail could not be changed", bucket=bucket, reason=str(error))


def _for_queues(deployment: Deployed) -> list[str]:
    """Return the targets that a `QueueConfiguration` may name: all but those of topics."""
    return [target.arn for target in deployment.targets if not Destination.of(target.arn).of_topic]


def requested_id(call: RawRequest) -> str:
    """Return the Id of the notification that a call is about, "" for all."""
    return call.first(QUERY) or call.first(_ONE) or ""


@contextmanager
def _answered() -> Iterator[None]:
    """Translate errors to S3's."""
    try:
        with aws_errors():
            yield
    except S3Error:
        raise
    except AwsError as error:
        if error.denied:
            raise S3Error("AccessDenied", str(error)) from error
        raise S3Error("ServiceUnavailable", str(error)) from error
    except BucketcastError as error:
        # Entries of others, or of the deploy, conflict: the text names them and a hint.
        raise S3Error("InvalidArgument", str(error)) from error
