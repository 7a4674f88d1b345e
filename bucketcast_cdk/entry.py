"""The HTTP entry for those who post their notifications: MinIO and Ceph RGW."""

from typing import Final

from aws_cdk import Duration, Stack
from constructs import Construct

from bucketcast.config import EntryConfig
from bucketcast.settings.environment import EntrySource
from bucketcast_cdk.alarms import watch_called
from bucketcast_cdk.context import Context
from bucketcast_cdk.function import Function
from bucketcast_cdk.ingest import Ingest
from bucketcast_cdk.permissions import allow_secrets

_MEMORY: Final = 256
_TIMEOUT: Final = Duration.seconds(20)


class HttpEntry(Construct):
    """A function behind a URL of its own; `url` is where to post."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        context: Context,
        *,
        config: EntryConfig,
        ingest: Ingest,
    ) -> None:
        super().__init__(scope, construct_id)
        made = Function(
            self,
            "Take",
            context,
            name=f"{Stack.of(self).stack_name}-entry",
            folder="entry",
            layers=context.assets.shared(),
            environment={
                "BUCKETCAST_QUEUE_URL": ingest.queue.queue_url,
                "BUCKETCAST_SOURCES": EntrySource.to_text(config.sources),
            },
            memory=_MEMORY,
            timeout=_TIMEOUT,
            reserved=config.reserved_concurrency or None,
        )
        ingest.queue.grant(made.role, "sqs:SendMessage")
        allow_secrets(made.role, config.secret_names, context.config.kms_keys)
        # Lambda's own check knows Signature V4 only, which neither of the two can make.
        self.url = made.add_url()
        nesting = context.nesting
        alarms = nesting.scope_for("Alarms", "entry", self)
        watch_called(alarms, f"{nesting.prefix}entry", made.function)
