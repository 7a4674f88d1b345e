"""`?notification` of a bucket: the rules of a deployment, read and written as S3's XML.

A bucket whose events do not come yet is attached by the first configuration that is written. An
empty one takes our rules away; what others have in the bucket's notifications is theirs.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Final

from bucketcast.control import xml
from bucketcast.control.answer import Answer, Send, reply
from bucketcast.control.call import Call
from bucketcast.control.errors import S3Error
from bucketcast.control.gate import Admitted
from bucketcast.control.s3 import document
from bucketcast.control.s3 import rules as forms
from bucketcast.control.s3.reads import demand_logged
from bucketcast.errors import BucketcastError
from bucketcast.store import deployed
from bucketcast.store.access import Aws, AwsError, explained
from bucketcast.store.access_events import AccessEvents
from bucketcast.store.rules import Rules
from bucketcast.store.wired import Buckets
from bucketcast.telemetry import logger

QUERY: Final = "notification"
_MISSING: Final = ("404", "NoSuchBucket")


class Notifications:
    """The notification API of one deployment."""

    def __init__(self, stack: str, aws: Aws, region: str) -> None:
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
        await reply(send, await asyncio.to_thread(self.get, admitted.call.bucket))

    async def _put(self, admitted: Admitted, send: Send) -> None:
        bucket = admitted.call.bucket
        await asyncio.to_thread(self.exists, bucket)
        if not admitted.body.payload.length:
            raise S3Error("MissingContentLength")
        text = await admitted.body.read(xml.MAX_BYTES)
        await asyncio.to_thread(self.put, bucket, text)
        await reply(send)

    async def _delete(self, admitted: Admitted, send: Send) -> None:
        await asyncio.to_thread(self.clear, admitted.call.bucket)
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

    def get(self, bucket: str) -> bytes:
        """The configuration; rules whose target is not deployed are left out.

        Raises:
            S3Error: there is no such bucket, or AWS cannot be asked.
        """
        self.exists(bucket)
        with _answered(), explained():
            there = deployed.find(self._stack, self._aws)
            known = {target.arn for target in there.targets}
            held = Rules(there.rules_table, self._aws.dynamodb).in_order(bucket)
        return document.written([forms.configuration(rule) for rule in held if rule.arn in known])

    def put(self, bucket: str, text: bytes) -> None:
        """Put a configuration in the place of the bucket's rules.

        Raises:
            S3Error: it has a mistake, or the bucket's events cannot be let come; nothing changed.
        """
        with _answered():
            there = deployed.find(self._stack, self._aws)
            known = [target.arn for target in there.targets]
            queues = document.read(text, known, self._region)
            rules = Rules(there.rules_table, self._aws.dynamodb)
            with explained():
                held = rules.in_order(bucket)
            logs = AccessEvents(there, self._aws)
            demand_logged(forms.rules(bucket, queues, held), held, lambda: logs.are_on(bucket))
            if queues:
                self._let_come(there, bucket)
            with explained():
                rules.change(bucket, lambda held: forms.rules(bucket, queues, held))
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

    def clear(self, bucket: str) -> None:
        """Take all rules of the bucket away.

        Raises:
            S3Error: there is no such bucket, or AWS refused.
        """
        self.exists(bucket)
        with _answered(), explained():
            there = deployed.find(self._stack, self._aws)
            Rules(there.rules_table, self._aws.dynamodb).change(bucket, lambda _: [])
        self._follow(there, bucket)

    def _follow(self, there: deployed.Deployed, bucket: str) -> None:
        """The rules are in force; what CloudTrail logs for them is a matter of its own."""
        try:
            AccessEvents(there, self._aws).follow(bucket)
        except BucketcastError as error:
            logger.error("the trail could not be changed", bucket=bucket, reason=str(error))


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
