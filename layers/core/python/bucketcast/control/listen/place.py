"""Where the queues of a deployment are: asked for once, and not before somebody listens."""

from functools import cached_property

from bucketcast.control.gate import Find
from bucketcast.control.listen.api import Listen
from bucketcast.control.listen.queue import Sqs, SqsQueue
from bucketcast.control.listen.quiet import Quiet
from bucketcast.control.s3.notification import Notifications
from bucketcast.store import deployed
from bucketcast.store.access import Aws, explained
from bucketcast.store.deployed import Deployed
from bucketcast.store.listeners import Listeners, Table
from bucketcast.store.login import Logins


class Place:
    """The queues of one deployment."""

    def __init__(self, stack: str, table: str, aws: Aws) -> None:
        self._stack = stack
        self._table = table
        self._aws = aws

    def prefix(self) -> str:
        """The URL of every queue, up to its name."""
        return self._there.ingress_queue.rpartition("/")[0]

    def tell_of_bucket(self, body: str) -> None:
        """Give ingest a notification of a bucket, unless CloudTrail tells of it."""
        if not self._there.trail:
            with explained():
                self._aws.sqs.send_message(QueueUrl=self._there.ingress_queue, MessageBody=body)

    def listen(
        self,
        notifications: Notifications,
        logins: Logins,
        region: str,
        known: Find,
        *,
        endless: bool,
    ) -> Listen:
        """The listen calls."""
        table = Table(self._table, self._aws.dynamodb)
        listeners = Listeners(self._stack, table, self._aws.sqs, self.prefix)
        sqs = Sqs(self._aws.sqs.meta.endpoint_url, region, logins)
        return Listen(
            listeners,
            lambda one: SqsQueue(listeners.url(one), sqs),
            notifications.let_come,
            Quiet(lambda: sqs.depth(self._there.ingress_queue)),
            known,
            endless=endless,
        )

    @cached_property
    def _there(self) -> Deployed:
        return deployed.find(self._stack, self._aws)
