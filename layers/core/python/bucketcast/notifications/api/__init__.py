"""`?notification` of a bucket: its rules, read and written as S3's XML.

The first configuration attaches the bucket. An empty one removes our rules, and leaves other
entries in the bucket's notifications alone. `document` parses and writes the XML, with Ceph's part
in `topics`; `conversion` converts it from and to rules, `checks` checks new rules.

`?notification=ID` reads or deletes one notification, as with Ceph. boto3 with Ceph's extended model
sends `?notification&notification-id=ID`, which RGW ignores.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from msgspec.structs import replace

from bucketcast.aws.clients import Aws, AwsError, aws_errors
from bucketcast.deployment import Deployed
from bucketcast.errors import BucketcastError, Busy
from bucketcast.limits import MOST_XML_BYTES
from bucketcast.notifications import topic_configuration as notification
from bucketcast.notifications.api import conversion, document
from bucketcast.notifications.api.checks import (
    check_size,
    check_supported,
    require_logged,
    require_sent,
    stored_topic_arn,
)
from bucketcast.notifications.api.document import Document
from bucketcast.notifications.aws.attachments import Attachments
from bucketcast.notifications.aws.checks import queue_targets
from bucketcast.rules import Rule
from bucketcast.state.rules import Rules
from bucketcast.telemetry import logger
from bucketcast.users import User
from bucketcast.web.authentication import AuthenticatedRequest
from bucketcast.web.errors import S3Error
from bucketcast.web.request import RawRequest
from bucketcast.web.responses import Handler, Send, send_response
from bucketcast.web.threads import in_thread

QUERY: Final = "notification"
_ONE: Final = "notification-id"
_MINIOS: Final = "MinIO ("
"""The prefix of MinIO clients' user agents; they write back all of what they read."""
_HEAD_CODES: Final = {
    "400": "InvalidBucketName",
    "403": "AccessDenied",
    "404": "NoSuchBucket",
    "NoSuchBucket": "NoSuchBucket",
    "ParamValidation": "InvalidBucketName",
}
_THROTTLED: Final = ("SlowDown", "ThrottlingException", "Throttling", "TooManyRequestsException")


class Notifications:
    """The notification API of the deployment that `find` returns, without dynamic targets."""

    def __init__(self, find: Callable[[], Deployed], aws: Aws, region: str) -> None:
        self._find = find
        self._aws = aws
        self._region = region

    def answers(self, call: RawRequest) -> Handler | None:
        """Return the handler of a call; None if it is not about notifications.

        Raises:
            S3Error: the method is not supported.
        """
        if not call.bucket or call.key or QUERY not in call.params:
            return None
        answer = {"GET": self._get, "PUT": self._put, "DELETE": self._delete}.get(call.method)
        if answer is None:
            # Never proxied to S3, where it would apply to the whole bucket.
            raise S3Error("MethodNotAllowed")
        return answer

    async def _get(self, admitted: AuthenticatedRequest, send: Send) -> None:
        call, is_minios = admitted.call, _is_minios(admitted.call)
        asked = call.bucket, requested_id(call)
        await send_response(send, await in_thread(admitted, self.get, *asked, to_minios=is_minios))

    async def _put(self, admitted: AuthenticatedRequest, send: Send) -> None:
        call = admitted.call
        await in_thread(admitted, self.exists, call.bucket)
        if requested_id(call):
            raise S3Error("InvalidArgument", "PUT ?notification takes no Id: the document has them")
        if not admitted.body.payload.length:
            raise S3Error("MissingContentLength")
        text = await admitted.body.read(MOST_XML_BYTES)
        whole = _is_minios(call)
        admitted.audited["changed"] = await in_thread(
            # By the rights that the user has when a thread is free.
            admitted,
            lambda: self.put(call.bucket, text, admitted.user, whole=whole),
        )
        await send_response(send)

    async def _delete(self, admitted: AuthenticatedRequest, send: Send) -> None:
        call = admitted.call
        await in_thread(admitted, self.delete, call.bucket, requested_id(call))
        admitted.audited["changed"] = [requested_id(call) or "all rules"]
        await send_response(send)

    def exists(self, bucket: str) -> None:
        """Require that the bucket exists.

        Raises:
            S3Error: it does not exist, or access is denied.
        """
        with _s3_errors():
            try:
                with aws_errors():
                    self._aws.s3.head_bucket(Bucket=bucket)
            except AwsError as error:
                # An answer to HEAD has no body, so its code is the status.
                if code := _HEAD_CODES.get(error.code):
                    raise S3Error(code, BucketName=bucket) from None
                raise

    def get(self, bucket: str, id: str = "", *, to_minios: bool = False) -> bytes:  # noqa: A002 - Ceph's word
        """Return the configuration, or its part with this `Id`.

        It leaves out disabled rules and those of targets that are not deployed, but keeps
        notifications of deleted topics.

        Raises:
            S3Error: the bucket or Id does not exist, or AWS does not answer.
        """
        self.exists(bucket)
        with _s3_errors():
            deployment = self._find()
            exists = queue_targets(deployment, self._aws)
            stored = Rules(deployment.state_table, self._aws.dynamodb).active(bucket)
            if id:
                stored = [rule for rule in stored if conversion.shown_id(rule) == id]
                if not stored:
                    raise S3Error("NoSuchKey", f"{bucket} has no notification {id}", Key=id)
            queues = [
                conversion.configuration(rule, to_minios=to_minios)
                for rule in stored
                if exists(rule.arn)
            ]
        return document.write(
            queues,
            [
                notification.notification(rule)
                for rule in stored
                if notification.is_notification(rule)
            ],
        )

    def put(self, bucket: str, text: bytes, user: User, *, whole: bool = False) -> list[str]:
        """Store a configuration; `conversion.apply_document` merges it with the stored rules.

        Return the ARNs of the rules that changed.

        Raises:
            S3Error: it is invalid, or the bucket cannot be attached; nothing has changed.
        """
        with _s3_errors():
            deployment = self._find()
            rules = Rules(deployment.state_table, self._aws.dynamodb)
            given = document.read(text, queue_targets(deployment, self._aws), self._region)
            stored = rules.in_order(bucket)
            bound = self._bound(bucket, given, stored, user, deployment, whole=whole)

            def edit(stored: list[Rule]) -> list[Rule]:
                wanted = conversion.apply_document(bucket, bound, stored, whole=whole)
                check_size(wanted, stored)
                check_supported(wanted, stored, deployment)
                return wanted

            wanted = edit(stored)
            require_logged(wanted, stored, deployment.access_events.get(bucket, ()))
            if not bound.empty:
                self._attach(bucket, wanted, stored, deployment)
            rules.change(bucket, edit)
            before, after = ({rule.id: rule for rule in each} for each in (stored, wanted))
            both = before.keys() | after.keys()
            changed = [each for each in both if before.get(each) != after.get(each)]
            return list({(after.get(each) or before[each]).arn for each in changed})

    def attach(self, bucket: str, asked: Sequence[Rule] = ()) -> None:
        """Attach a bucket, unless it is attached, for those who ask for events of it.

        Raises:
            S3Error: the bucket does not exist, or cannot be attached, or does not send what is
                asked for.
        """
        self.exists(bucket)
        with _s3_errors():
            self._attach(bucket, asked, (), self._find())

    def _attach(
        self, bucket: str, wanted: Sequence[Rule], stored: Sequence[Rule], deployment: Deployed
    ) -> None:
        """Attach a bucket unless it is, and restore the deploy's entry; new rules may need more."""
        attachments = Attachments(deployment, self._aws)
        status = attachments.read_status(bucket)
        require_sent(wanted, stored, status.parts, deployment)
        if not status.via:
            by_rule = deployment.buckets.get(bucket) == "eventbridge"
            attachments.attach(bucket, "eventbridge" if by_rule else "sqs")

    def forget(self, bucket: str) -> None:
        """Remove the rules of a bucket that is gone, as S3 forgets its notifications."""
        with aws_errors():
            self._remove(bucket, lambda _: True)
            Attachments(self._find(), self._aws).forget(bucket)

    def delete(self, bucket: str, id: str = "") -> None:  # noqa: A002 - Ceph's word
        """Remove the rules with this `Id`, or all; an unknown `Id` is no error.

        Raises:
            S3Error: the bucket does not exist, or AWS refused.
        """
        self.exists(bucket)
        with _s3_errors():
            self._remove(bucket, lambda rule: conversion.is_shown(rule, id))

    def _remove(self, bucket: str, chosen: Callable[[Rule], bool]) -> None:
        Rules(self._find().state_table, self._aws.dynamodb).change(
            bucket, lambda stored: [rule for rule in stored if not chosen(rule)]
        )

    def _bound(
        self,
        bucket: str,
        document_given: Document,
        stored: Sequence[Rule],
        user: User,
        deployment: Deployed,
        *,
        whole: bool,
    ) -> Document:
        """Return the document with the stored ARNs of its topics, which this user may use.

        Do not check notifications that a client only writes back: their topic may be deleted, or
        another user's.
        """
        same = {rule.id for rule in stored if not rule.disabled} if whole else set()
        resolved = [
            sent
            if notification.rule(bucket, complete).id in same
            else replace(sent, topic=stored_topic_arn(sent.topic, user, deployment, self._aws))
            for sent, complete in zip(
                document_given.notifications,
                conversion.restore_filters(document_given.notifications, stored),
                strict=True,
            )
        ]
        return Document(document_given.queues, resolved)


def _is_minios(call: RawRequest) -> bool:
    return call.headers.get("user-agent", "").startswith(_MINIOS)


def requested_id(call: RawRequest) -> str:
    """Return the `Id` in a call's query, "" for all notifications."""
    return call.first(QUERY) or call.first(_ONE) or ""


def _code(error: AwsError) -> str:
    """Return S3's code for a refusal of AWS's: what AWS says of itself stays what it is."""
    if error.denied:
        return "AccessDenied"
    if error.code in _THROTTLED:
        return "SlowDown"
    return "OperationAborted" if error.code == "OperationAborted" else "ServiceUnavailable"


@contextmanager
def _s3_errors() -> Iterator[None]:
    """Raise errors as `S3Error`."""
    try:
        with aws_errors():
            yield
    except (S3Error, Busy):
        raise
    except AwsError as error:
        # The text names the account and its roles: it is for the log.
        logger.warning("AWS refused", reason=str(error))
        raise S3Error(_code(error)) from error
    except BucketcastError as error:
        # Entries of others, or of the deploy, conflict: the text names them and has a hint.
        raise S3Error("InvalidArgument", str(error)) from error
