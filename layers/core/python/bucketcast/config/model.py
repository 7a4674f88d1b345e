"""The result of reading a configuration, and the options of the stack and its buckets."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from bucketcast import targets
from bucketcast.config.alarms import AlarmOptions
from bucketcast.config.function import Deploy, DynamicOptions
from bucketcast.config.ingest import IngestOptions
from bucketcast.config.pipeline import PipelineOptions, ScanConfig
from bucketcast.config.source import SourceConfig
from bucketcast.config.topics import TopicOptions
from bucketcast.config.trail import TrailOptions, access_event
from bucketcast.delivery.policy import FIFO
from bucketcast.destination import TargetArn
from bucketcast.limits import WINDOW
from bucketcast.rules.access_events import NAMES, PRICE
from bucketcast.rules.conditions import FACTS
from bucketcast.settings.environment import ANY_BUCKET, ObjectFacts
from bucketcast.settings.options import Limits, option, options_of
from bucketcast.settings.types import KMS_KEY, REFERENCE, Csv, OnOff, choice
from bucketcast.targets.base.options import Common, Shaped, ValidationError

_LOG_RETENTION_DAYS: Final = choice(
    map(
        str,
        (
            *(1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731),
            *(1096, 1827, 2192, 2557, 2922, 3288, 3653),
        ),
    )
)
"""Parses a value that CloudWatch allows: AWS::Logs::LogGroup, RetentionInDays."""
NOT_FOR_THE_FUNCTION = options_of(Common).keys() - options_of(Shaped).keys()
"""Options that only the deploy reads."""


@dataclass(frozen=True, kw_only=True)
class StackOptions:
    """The keys at the top of the file."""

    sync_events: OnOff = option(
        "send one event at a time per target, each only after the previous was confirmed; also "
        "MINIO_API_SYNC_EVENTS",
        default="off",
    )
    object_facts: Literal["off", "on", "all"] = option(
        "let ingest read an object's metadata, tags, content type and storage class from S3, and, "
        "after a version was deleted, the current one: for the buckets in this file (on) or for "
        "all, which is a local deploy's default",
        default="off",
    )
    kms_key: str = option(
        "ARN of the KMS key that encrypts queues, tables, logs, functions' variables and the "
        "pipeline's bucket, instead of AWS's own",
        default="",
        parse=KMS_KEY,
    )
    kms_keys: Csv = option(
        "ARNs of the KMS keys of secrets, Inventory reports and buckets, with which functions and "
        "jobs may decrypt",
        default="",
        parse=KMS_KEY,
    )
    dashboard: OnOff = option(
        "create a CloudWatch dashboard, for up to $3.00 a month",
        default="off",
    )
    log_retention_days: int = option(
        "days that CloudWatch keeps the functions' logs",
        default="30",
        parse=lambda text: int(_LOG_RETENTION_DAYS(text)),
    )


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """A bucket that the deploy connects to the ingress queue."""

    create: OnOff = option("create the bucket; off for an existing one", default="on")
    via: Literal["sqs", "eventbridge"] = option("how S3 delivers its events", default="sqs")
    access_events: Csv = option(
        f"events that only CloudTrail reports, {PRICE}: {', '.join(NAMES)}, or their names",
        default="",
        parse=access_event,
    )


@dataclass(frozen=True, kw_only=True)
class GatewayOptions:
    """The table `[gateway]`."""

    function_url: OnOff = option(
        "serve the APIs of notifications and topics at a function URL, for mc and the SDKs",
        default="off",
    )
    audit: OnOff = option(
        "log each call that changes something or is refused: who, from where, what, and the answer",
        default="on",
    )
    reserved_concurrency: int = option(
        "concurrent executions reserved for the function, and its maximum, for all who call its "
        "URL; 0 reserves none",
        default="0",
        limits=Limits("0", "1000"),
    )
    listen_concurrency: int = option(
        "listeners that are served at once, at a URL of their own, each by a reserved concurrent "
        "execution; 0 switches listening off",
        default="0",
        example="10",
        limits=Limits("0", "500"),
    )

    def validation_errors(self) -> Iterator[ValidationError]:
        """Yield an error for each option that another one requires."""
        if self.listen_concurrency and not self.function_url:
            found = f"found {self.listen_concurrency}"
            yield "listen_concurrency", found, 'it needs function_url = "on" beside it'


@dataclass(frozen=True, kw_only=True)
class RemovedOptions:
    """Targets that are not in the configuration any more."""

    discard: Csv = option(
        "ARNs of removed targets whose queued events a deploy may discard; it refuses otherwise",
        default="",
        example="arn:minio:sqs::old:webhook",
    )


@dataclass(frozen=True, slots=True)
class TargetConfig:
    """One configured target; `settings` holds references in place of secrets.

    A target that is not `enabled` is deployed, but its events wait. `queue_limit` is the number of
    messages that may wait, None for any number. `facts` are the object facts in its records.
    """

    kind: str
    id: str
    settings: Mapping[str, str]
    deploy: Deploy
    plain_secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    enabled: bool = True
    queue_limit: int | None = None
    facts: tuple[str, ...] = ()

    @property
    def arn(self) -> TargetArn:
        return TargetArn(id=self.id, type=targets.load(self.kind).arn_type)

    @property
    def is_mirror(self) -> bool:
        """True if it mirrors its buckets."""
        return is_mirror(self.kind, self.settings)

    @property
    def secret_names(self) -> frozenset[str]:
        """The secrets that its function must be allowed to read."""
        return secret_names(self.settings.values())


@dataclass(frozen=True, kw_only=True)
class Deployment(StackOptions):
    """A whole configuration; `notes` tell the reader what was accepted without effect.

    The tables have the names that they have in the file. Without `alarms` no one is notified, and
    without `pipeline` there are no jobs.
    """

    buckets: Mapping[str, Bucket]
    targets: tuple[TargetConfig, ...]
    scans: Mapping[str, ScanConfig]
    notes: tuple[str, ...]
    source: SourceConfig
    trail: TrailOptions
    ingest: IngestOptions
    dynamic_targets: DynamicOptions
    gateway: GatewayOptions
    topics: TopicOptions
    removed: RemovedOptions
    alarms: AlarmOptions | None
    pipeline: PipelineOptions | None

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
        return max(self.ingest.window, WINDOW if all_gather else 0)

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


def secret_names(settings: Iterable[str]) -> frozenset[str]:
    """Return the names of the secrets that settings refer to, without the fields inside them."""
    return frozenset(
        setting.removeprefix(REFERENCE).partition("#")[0]
        for setting in settings
        if setting.startswith(REFERENCE)
    )


def is_member(setting: str) -> bool:
    """Return True if a setting refers to one field of a secret that holds several."""
    return setting.startswith(REFERENCE) and "#" in setting


def is_mirror(kind: str, settings: Mapping[str, str]) -> bool:
    """Return True if a target with these settings mirrors its buckets."""
    declared: Any = targets.load(kind).Settings
    form = options_of(declared).get("format")
    value = settings.get("format", "")
    return form is not None and form.parse(value or form.default) == "namespace"
