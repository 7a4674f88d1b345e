"""`?notification` of a bucket: the rules of a deployment, read and written as S3's XML.

A bucket whose events do not come yet is attached by the first configuration that is written. An
empty one takes our rules away; what others have in the bucket's notifications is theirs.

`?notification=ID` reads or deletes one, as with Ceph. boto3 with Ceph's extended model says it as
`?notification&notification-id=ID`, which RGW takes for all.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Final

from msgspec.structs import replace

from bucketcast import notification
from bucketcast.control import xml
from bucketcast.control.answer import Answer, Send, reply
from bucketcast.control.call import Call
from bucketcast.control.errors import S3Error
from bucketcast.control.gate import Admitted
from bucketcast.control.s3 import document
from bucketcast.control.s3 import rules as forms
from bucketcast.control.s3.document import Document
from bucketcast.control.s3.reads import demand_logged
from bucketcast.control.users import User
from bucketcast.errors import BucketcastError
from bucketcast.rules import Rule, patterns
from bucketcast.store import deployed
from bucketcast.store.access import Aws, AwsError, explained
from bucketcast.store.access_events import AccessEvents
from bucketcast.store.deployed import Deployed
from bucketcast.store.looks import blind
from bucketcast.store.rules import Rules
from bucketcast.store.wired import Buckets
from bucketcast.telemetry import logger
from bucketcast.topics.model import is_topics_target

QUERY: Final = "notification"
_ONE: Final = "notification-id"
_MINIOS: Final = "MinIO ("
"""How the user agents of MinIO's clients begin: they write back all of what they read."""
_MISSING: Final = ("404", "NoSuchBucket")


Bind = Callable[[Deployed, str, User], str]
"""Gives a topic's ARN as it is kept; raises an `S3Error` where the user may not use it."""


def no_topics(_: Deployed, arn: str, __: User) -> str:
    """A deployment that has no topic."""
    raise S3Error("NoSuchKey", f"there is no topic {arn}")


class Notifications:
    """The notification API of one deployment; `topic` knows topics and who may use them."""

    def __init__(self, stack: str, aws: Aws, region: str, topic: Bind = no_topics) -> None:
        self._topic = topic
        self._stack = stack
        self._aws = aws
        self._region = region

    def answers(self, call: Call) -> Answer | None:
        """Who answers a call; None where it is not about notifications.

        Raises:
            S3Error: it is, and there is no such method.
        """
        if not call.bucket or call.key or QUERY not in call.asked:
            return None
        answer = {"GET": self._get, "PUT": self._put, "DELETE": self._delete}.get(call.method)
        if answer is None:
            # Never on to S3: what it would do there, to all of the bucket, nobody asked for.
            raise S3Error("MethodNotAllowed")
        return answer

    async def _get(self, admitted: Admitted, send: Send) -> None:
        call = admitted.call
        await reply(send, await asyncio.to_thread(self.get, call.bucket, asked_id(call)))

    async def _put(self, admitted: Admitted, send: Send) -> None:
        call = admitted.call
        await asyncio.to_thread(self.exists, call.bucket)
        if asked_id(call):
            raise S3Error("InvalidArgument", "PUT ?notification takes no Id: the document has them")
        if not admitted.body.payload.length:
            raise S3Error("MissingContentLength")
        text = await admitted.body.read(xml.MAX_BYTES)
        whole = call.headers.get("user-agent", "").startswith(_MINIOS)
        await asyncio.to_thread(self.put, call.bucket, text, admitted.user, whole=whole)
        await reply(send)

    async def _delete(self, admitted: Admitted, send: Send) -> None:
        call = admitted.call
        await asyncio.to_thread(self.delete, call.bucket, asked_id(call))
        await reply(send, status=HTTPStatus.NO_CONTENT)

    def exists(self, bucket: str) -> None:
        """See that there is such a bucket.

        Raises:
            S3Error: there is none, or it may not be seen.
        """
        with _answered():
            try:
                with explained():
                    self._aws.s3.head_bucket(Bucket=bucket)
            except AwsError as error:
                if error.code in _MISSING:
                    raise S3Error("NoSuchBucket", BucketName=bucket) from None
                raise

    def get(self, bucket: str, id: str = "") -> bytes:  # noqa: A002 - Ceph's word
        """The configuration, or what it has by this Id.

        Rules whose target is not deployed are left out; notifications stay when a topic goes.

        Raises:
            S3Error: there is no such bucket or Id, or AWS cannot be asked.
        """
        self.exists(bucket)
        with _answered(), explained():
            there = deployed.find(self._stack, self._aws)
            known = set(_for_queues(there))
            held = Rules(there.rules_table, self._aws.dynamodb).in_order(bucket)
        if id:
            held = [rule for rule in held if forms.shown_id(rule) == id]
            if not held:
                raise S3Error("NoSuchKey", f"{bucket} has no notification {id}", Key=id)
        return document.written(
            [forms.configuration(rule) for rule in held if rule.arn in known],
            [
                notification.notification(rule)
                for rule in held
                if notification.is_notification(rule)
            ],
        )

    def put(self, bucket: str, text: bytes, user: User, *, whole: bool = False) -> None:
        """Put a configuration in force; how it meets what there is, `forms.exchanged` says.

        Raises:
            S3Error: it has a mistake, or the bucket's events cannot be let come; nothing changed.
        """
        with _answered():
            there = deployed.find(self._stack, self._aws)
            given = document.read(text, _for_queues(there), self._region)
            rules = Rules(there.rules_table, self._aws.dynamodb)
            logs = AccessEvents(there, self._aws)

            def edit(held: list[Rule]) -> list[Rule]:
                wanted = forms.exchanged(bucket, given, held, whole=whole)
                _demand(wanted, held, there)
                return wanted

            with explained():
                held = rules.in_order(bucket)
                given = self._bound(bucket, given, held, user, there, whole=whole)
                demand_logged(edit(held), held, lambda: logs.are_on(bucket))
            if not given.empty:
                self._let_come(there, bucket)
            with explained():
                rules.change(bucket, edit)
        self._follow(there, bucket)

    def let_come(self, bucket: str) -> None:
        """Attach a bucket whose events do not come yet.

        Raises:
            S3Error: there is no such bucket, or its events cannot be let come.
        """
        self.exists(bucket)
        with _answered():
            self._let_come(deployed.find(self._stack, self._aws), bucket)

    def _let_come(self, there: deployed.Deployed, bucket: str) -> None:
        buckets = Buckets(there, self._aws)
        if not (wired := buckets.look(bucket)).via and not wired.by_deploy:
            buckets.attach(bucket, "sqs")

    def delete(self, bucket: str, id: str = "") -> None:  # noqa: A002 - Ceph's word
        """Take the rules of this Id away, or all; an Id that is not there is no error.

        Raises:
            S3Error: there is no such bucket, or AWS refused.
        """
        self.exists(bucket)
        with _answered(), explained():
            there = deployed.find(self._stack, self._aws)
            Rules(there.rules_table, self._aws.dynamodb).change(
                bucket, lambda held: forms.without(held, id) if id else []
            )
        self._follow(there, bucket)

    def _bound(
        self,
        bucket: str,
        given: Document,
        held: Sequence[Rule],
        user: User,
        there: Deployed,
        *,
        whole: bool,
    ) -> Document:
        """The same with the ARNs of topics as they are kept, all of which this user may use.

        What is there already and only given back, by a client that writes the whole, is not asked
        for again: its topic may have gone, or be another's.
        """
        same = {rule.id for rule in held} if whole else set()
        bound = [
            each
            if notification.rule(bucket, meant).id in same
            else replace(each, topic=self._topic(there, each.topic, user))
            for each, meant in zip(
                given.notifications, forms.given_back(given.notifications, held), strict=True
            )
        ]
        return Document(given.queues, bound)

    def _follow(self, there: deployed.Deployed, bucket: str) -> None:
        """The rules are in force; what CloudTrail logs for them is a matter of its own."""
        try:
            AccessEvents(there, self._aws).follow(bucket)
        except BucketcastError as error:
            logger.error("the trail could not be changed", bucket=bucket, reason=str(error))


def _for_queues(there: Deployed) -> list[str]:
    """The targets that a `QueueConfiguration` may name; a topic's own takes `sns:Publish`."""
    return [target.arn for target in there.targets if not is_topics_target(target.arn)]


def asked_id(call: Call) -> str:
    """The Id of one notification that a call is about, "" where it is about all."""
    return call.first(QUERY) or call.first(_ONE) or ""


def _demand(wanted: Sequence[Rule], held: Sequence[Rule], there: Deployed) -> None:
    """See that ingest can do what the rules ask that were not there.

    Raises:
        S3Error: it cannot.
    """
    there_already = {rule.id for rule in held}
    new = [rule for rule in wanted if rule.id not in there_already]
    for rule in new:
        if why := blind(rule, there):
            raise S3Error("InvalidArgument", why)
    if any(map(patterns, new)):
        try:
            notification.check_memory(wanted)
        except notification.WrongFilterError as error:
            raise S3Error("InvalidArgument", str(error)) from None


@contextmanager
def _answered() -> Iterator[None]:
    """Say what went wrong within as S3 would."""
    try:
        yield
    except S3Error:
        raise
    except AwsError as error:
        if error.denied:
            raise S3Error("AccessDenied", str(error)) from error
        raise S3Error("ServiceUnavailable", str(error)) from error
    except BucketcastError as error:
        # Entries of others, or of the deploy, are in the way: the text says which, and the cure.
        raise S3Error("InvalidArgument", str(error)) from error
