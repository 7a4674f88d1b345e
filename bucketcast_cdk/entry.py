"""The HTTP entry for those who post their notifications: MinIO and Ceph RGW."""

from collections.abc import Sequence
from typing import Final

from aws_cdk import Duration, Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from bucketcast.config import EntryConfig
from bucketcast.settings.environment import EntrySource
from bucketcast_cdk import secrets
from bucketcast_cdk.assets import Assets
from bucketcast_cdk.function import Function
from bucketcast_cdk.ingest import Ingest

_MEMORY: Final = 256
_TIMEOUT: Final = Duration.seconds(20)


class Entry(Construct):
    """A function behind a URL of its own; `url` is where to post."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        config: EntryConfig,
        ingest: Ingest,
        assets: Assets,
        keys: Sequence[str],
    ) -> None:
        super().__init__(scope, construct_id)
        made = Function(
            self,
            "Take",
            name=f"{Stack.of(self).stack_name}-entry",
            folder="entry",
            assets=assets,
            layers=[assets.core(), assets.runtime()],
            environment={
                "BUCKETCAST_QUEUE_URL": ingest.queue.queue_url,
                "BUCKETCAST_SOURCES": EntrySource.to_text(config.sources),
            },
            memory=_MEMORY,
            timeout=_TIMEOUT,
            reserved=config.reserved_concurrency or None,
        )
        ingest.queue.grant(made.role, "sqs:SendMessage")
        secrets.let_read(made.role, config.secret_names, keys)
        # Lambda's own check knows Signature V4 only, which neither of the two can make.
        self.function = made.function
        made_url = made.function.add_function_url(auth_type=lambda_.FunctionUrlAuthType.NONE)
        self.url = made_url.url
