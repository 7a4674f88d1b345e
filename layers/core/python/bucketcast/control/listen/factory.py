"""Build the listen calls of a deployment; queues are looked up once, on first use."""

from functools import cached_property

from bucketcast.aws import deployed
from bucketcast.aws.attach.access_events import AccessEvents
from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.aws.credentials import CredentialsProvider
from bucketcast.aws.deployed import Deployed
from bucketcast.aws.listeners import Listeners, Table
from bucketcast.control.authentication import FindAccount
from bucketcast.control.listen.api import Listen
from bucketcast.control.listen.idle import IdleMonitor
from bucketcast.control.listen.queue import Sqs, SqsQueue
from bucketcast.control.s3.notification import Notifications


class ListenFactory:
    """The queues of one deployment."""

    def __init__(self, stack: str, table: str, aws: Aws) -> None:
        self._stack = stack
        self._table = table
        self._aws = aws

    def prefix(self) -> str:
        """Return the URL of every queue, up to its name."""
        return self._there.ingress_queue.rpartition("/")[0]

    def tell_of_bucket(self, bucket: str, body: str) -> None:
        """Send a bucket's notification to ingest, unless CloudTrail logs it."""
        there = self._there
        if not (there.bucket_events and AccessEvents(there, self._aws).are_on(bucket)):
            with aws_errors():
                self._aws.sqs.send_message(QueueUrl=self._there.ingress_queue, MessageBody=body)

    def listen(
        self,
        notifications: Notifications,
        logins: CredentialsProvider,
        region: str,
        known: FindAccount,
        *,
        endless: bool,
    ) -> Listen:
        """Return the listen calls."""
        table = Table(self._table, self._aws.dynamodb)
        listeners = Listeners(
            self._stack, table, self._aws.sqs, self.prefix, kms_key=lambda: self._there.kms_key
        )
        sqs = Sqs(self._aws.sqs.meta.endpoint_url, region, logins)
        return Listen(
            listeners,
            lambda one: SqsQueue(listeners.url(one), sqs),
            notifications.attach,
            IdleMonitor(lambda: sqs.depth(self._there.ingress_queue)),
            known,
            endless=endless,
        )

    @cached_property
    def _there(self) -> Deployed:
        return deployed.find(self._stack, self._aws)
