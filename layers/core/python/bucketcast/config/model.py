"""What a configuration amounts to, and the options that are Bucketcast's own."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from bucketcast import targets
from bucketcast.arn import Arn
from bucketcast.config.alarms import AlarmOptions
from bucketcast.config.entry import EntryConfig
from bucketcast.config.pipeline import PipelineOptions, ScanConfig
from bucketcast.config.runtime import RuntimeConfig
from bucketcast.config.source import SourceConfig
from bucketcast.settings.egress import PRIVATE, Egress
from bucketcast.settings.environment import ANY_BUCKET, ObjectFacts
from bucketcast.settings.options import REFERENCE, Csv, Duration, OnOff, option, options_of
from bucketcast.targets.base.options import Common, Shaped
from bucketcast.topics.model import TopicDefaults

MAX_CONCURRENCY = 4
"""Batches of one target at once: one that hangs takes no more of the account's calls."""
WINDOW_SECONDS = 1
"""Below that Lambda takes no more than 10 messages a call."""
OBJECT_FACTS = ("off", "on", "all")
LOG_RETENTION_DAYS = (
    *(1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731),
    *(1096, 1827, 2192, 2557, 2922, 3288, 3653),
)
"""What CloudWatch allows: AWS::Logs::LogGroup, RetentionInDays."""
NOT_FOR_THE_FUNCTION = options_of(Common).keys() - options_of(Shaped).keys()
"""What the deploy reads and the function has no use for."""


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """A bucket that the deploy connects to the ingress queue."""

    create: OnOff = option("create the bucket; off for an existing one", default="on")
    via: Literal["sqs", "eventbridge"] = option("how S3 delivers its events", default="sqs")
    access_events: OnOff = option(
        "also deliver the read events that rules need, by CloudTrail, $1.00 per million",
        default="off",
    )


@dataclass(frozen=True, kw_only=True)
class RemovedOptions:
    """Targets that are not in the configuration any more."""

    discard: Csv = option(
        "ARNs of removed targets whose queued events a deploy may discard; it refuses otherwise",
        default="",
        example="arn:minio:sqs::old:webhook",
    )


@dataclass(frozen=True, kw_only=True)
class DeployOptions:
    """What the target's function needs; Bucketcast's own, not MinIO's."""

    profile: Literal["latency", "throughput"] = option(
        "latency: up to 10 messages per batch, no delay; throughput: thousands, up to 1 s delay",
        default="latency",
    )
    memory: int = option("memory of the function in MB, 128 to 10240", default="512")
    timeout: Duration = option("timeout of one batch, 1s to 15m", default="60s")
    max_concurrency: int = option(
        "concurrent batches, 2 to 1000; 0 is no limit. MinIO's max_open_connections is used if "
        "this is not set",
        default=str(MAX_CONCURRENCY),
    )
    vpc: str = option("id of the VPC that the function runs in", default="", example="vpc-0abc")
    subnets: Csv = option("ids of its subnets", default="", example="subnet-0a,subnet-0b")
    security_groups: Csv = option("ids of its security groups", default="", example="sg-0a")
    allow_private: Csv = option(
        "private and loopback hosts, addresses or networks that a webhook on AWS may connect to; "
        "in a VPC all private addresses are allowed",
        default="",
        example="hooks.internal,10.0.0.0/8",
    )
    facts: Csv = option(
        "facts to add to every event: metadata (and content type), tags; needs object_facts",
        default="",
        example="metadata,tags",
    )
    tls_skip_verify: OnOff = option(
        "confirms a target's tls_skip_verify for a deploy to AWS", default="off"
    )


@dataclass(frozen=True, slots=True)
class Deploy:
    """`DeployOptions`, checked: MB, seconds, and None where there is no limit or VPC."""

    profile: str
    memory: int
    timeout: int
    max_concurrency: int | None
    vpc: str | None
    subnets: tuple[str, ...]
    security_groups: tuple[str, ...]
    facts: tuple[str, ...] = ()
    tls_skip_verify: bool = False
    allow_private: tuple[str, ...] = ()

    @property
    def egress(self) -> Egress:
        """Where a webhook may connect to: in a VPC, private addresses are what it is there for."""
        return Egress((*self.allow_private, *(PRIVATE if self.vpc else ())))

    @property
    def window(self) -> int:
        """For how many seconds the function's messages are gathered."""
        return WINDOW_SECONDS if self.profile == "throughput" else 0


@dataclass(frozen=True, slots=True)
class TargetConfig:
    """One configured target; `settings` holds references in place of secrets.

    Of one that is not `enabled` all is there, but nothing is sent: its events wait. `queue_limit`
    is how many may wait, None for any number.
    """

    kind: str
    id: str
    settings: Mapping[str, str]
    deploy: Deploy
    plain_secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    enabled: bool = True
    queue_limit: int | None = None

    @property
    def arn(self) -> Arn:
        return Arn(id=self.id, type=targets.load(self.kind).arn_type)

    @property
    def is_mirror(self) -> bool:
        """Whether it shows what its buckets show."""
        return is_mirror(self.kind, self.settings)

    @property
    def secret_names(self) -> frozenset[str]:
        """The secrets that its function must be allowed to read."""
        return secret_names(self.settings.values())


@dataclass(frozen=True, slots=True)
class Deployment:
    """A whole configuration. `notes` are for the reader: what was accepted and does nothing.

    `object_facts` says at whose objects ingest may look: of the buckets here, of all, of none.
    `scans` are by bucket, and there are none without the `pipeline`. Without `alarms` nobody is
    told when one fires. `discard` are the ARNs of targets that may be removed with what waits.
    `control` is whether the control plane answers behind a URL. `kms_keys` are the ARNs of the keys
    by which secrets and reports are encrypted, `kms_key` that of what the stack keeps, or "".
    `reserved` are the calls at once that are kept free for ingest, 0 for none; `window` is for how
    many seconds it gathers messages at the least.
    `nested` is whether what holds nothing stands in stacks of its own.
    `log_retention_days` is how long the functions' logs are kept.
    `dashboard` is whether the stack has one, and `tracing` whether X-Ray samples its functions.
    `trail` is the name or ARN of a trail to log access events with, "" where the deploy makes one;
    `trail_selectors` is whether what it logs follows the rules, and `bucket_events` whether it logs
    that buckets are created and removed.
    """

    sync_events: bool
    buckets: Mapping[str, Bucket]
    targets: tuple[TargetConfig, ...]
    notes: tuple[str, ...] = ()
    object_facts: str = "off"
    entry: EntryConfig | None = None
    pipeline: PipelineOptions | None = None
    scans: Mapping[str, ScanConfig] = field(default_factory=dict)
    alarms: AlarmOptions | None = None
    runtime: RuntimeConfig = field(default_factory=RuntimeConfig)
    discard: tuple[str, ...] = ()
    control: bool = False
    kms_keys: tuple[str, ...] = ()
    kms_key: str = ""
    reserved: int = 0
    nested: bool = False
    topics: TopicDefaults = field(default_factory=TopicDefaults)
    trail: str = ""
    trail_selectors: bool = True
    bucket_events: bool = False
    window: int = 0
    dashboard: bool = True
    tracing: bool = False
    log_retention_days: int = 30
    source: SourceConfig = field(default_factory=SourceConfig)

    @property
    def plain_secrets(self) -> list[Mapping[str, str]]:
        """What a local deploy was given in plain text, by the names of the secrets."""
        own = [self.entry.plain_secrets] if self.entry else []
        return [*own, *(each.plain_secrets for each in self.targets)]

    @property
    def ingest_window(self) -> int:
        """For how many seconds ingest gathers messages: for none if a target minds."""
        slow = self.targets and all(each.deploy.window for each in self.targets)
        return max(self.window, WINDOW_SECONDS if slow else 0)

    @property
    def facts(self) -> ObjectFacts:
        """What ingest may look at, and for whom."""
        if self.object_facts == "off":
            return ObjectFacts()
        every = [ANY_BUCKET] if self.object_facts == "all" else self.buckets
        wants = {str(each.arn): each.deploy.facts for each in self.targets if each.deploy.facts}
        mirrors = frozenset(str(each.arn) for each in self.targets if each.is_mirror)
        return ObjectFacts(frozenset(every), wants, mirrors)


def secret_names(settings: Iterable[str]) -> frozenset[str]:
    """The secrets that settings refer to, without the fields inside of them."""
    return frozenset(
        text.removeprefix(REFERENCE).partition("#")[0]
        for text in settings
        if text.startswith(REFERENCE)
    )


def is_member(setting: str) -> bool:
    """Whether a setting refers to one field of a secret that holds several."""
    return setting.startswith(REFERENCE) and "#" in setting


def is_mirror(kind: str, settings: Mapping[str, str]) -> bool:
    """Whether a target with these settings shows what its buckets show."""
    declared: Any = targets.load(kind).Settings
    known = options_of(declared).get("format")
    text = settings.get("format", "")
    return known is not None and known.parse(text or known.default) == "namespace"
