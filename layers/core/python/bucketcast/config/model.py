"""The result of reading a configuration: the tables of all features."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, get_args, get_type_hints

from bucketcast.config.alarms import AlarmOptions
from bucketcast.config.bucket import Bucket
from bucketcast.config.function import DynamicOptions
from bucketcast.config.gateway import GatewayOptions
from bucketcast.config.ingest import IngestOptions
from bucketcast.config.pipeline import PipelineOptions, ScanConfig
from bucketcast.config.source import SourceOptions
from bucketcast.config.stack import StackOptions
from bucketcast.config.target import TargetConfig
from bucketcast.config.topics import TopicOptions
from bucketcast.config.trail import TrailOptions
from bucketcast.delivery.policy import FIFO
from bucketcast.limits import WINDOW_SECONDS
from bucketcast.rules.conditions import FACTS
from bucketcast.settings.environment import ANY_BUCKET, ObjectFacts


@dataclass(frozen=True, kw_only=True)
class SingleTables:
    """The tables that exist once, by their names; without one that may be None nothing is made."""

    source: SourceOptions
    trail: TrailOptions
    ingest: IngestOptions
    alarms: AlarmOptions | None
    dynamic_targets: DynamicOptions
    gateway: GatewayOptions
    topics: TopicOptions
    pipeline: PipelineOptions | None


TABLES: Final[Mapping[str, type[Any]]] = {
    name: (get_args(hint) or (hint,))[0] for name, hint in get_type_hints(SingleTables).items()
}
OPTIONAL: Final = [name for name, hint in get_type_hints(SingleTables).items() if get_args(hint)]
"""Tables whose presence makes what they configure."""


@dataclass(frozen=True, kw_only=True)
class Deployment(StackOptions, SingleTables):
    """A whole configuration; `notes` tell the reader what was accepted without effect."""

    buckets: Mapping[str, Bucket]
    targets: tuple[TargetConfig, ...]
    scans: Mapping[str, ScanConfig]
    notes: tuple[str, ...]

    @property
    def access_events(self) -> dict[str, tuple[str, ...]]:
        """The names of the access events of buckets that have some, by bucket."""
        return {
            name: bucket.access_events
            for name, bucket in self.buckets.items()
            if bucket.access_events
        }

    @property
    def queue_end(self) -> str:
        """The suffix of the names of the targets' queues."""
        return FIFO if self.sync_events else ""

    @property
    def plain_secrets(self) -> list[Mapping[str, str]]:
        """The plain text of a local deploy's secrets, by the names of the secrets."""
        return [target.plain_secrets for target in self.targets]

    @property
    def ingest_window(self) -> int:
        """The seconds for which ingest gathers messages: a window if all targets gather."""
        all_gather = self.targets and all(target.deploy.window for target in self.targets)
        return max(self.ingest.window, WINDOW_SECONDS if all_gather else 0)

    @property
    def facts(self) -> ObjectFacts:
        """The facts that ingest may read, and the targets and topics that want them."""
        if self.object_facts == "off":
            return ObjectFacts()
        buckets = [ANY_BUCKET] if self.object_facts == "all" else self.buckets
        wants = {str(target.arn): target.facts for target in self.targets if target.facts}
        mirrors = frozenset(str(target.arn) for target in self.targets if target.is_mirror)
        topics = tuple(FACTS) if self.topics.facts else ()
        return ObjectFacts(frozenset(buckets), wants, mirrors, topics)
