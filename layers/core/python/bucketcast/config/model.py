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
from bucketcast.options import REFERENCE, Csv, Duration, OnOff, option, options_of
from bucketcast.settings import ANY_BUCKET, ObjectFacts
from bucketcast.targets.base import Common, Shaped
from bucketcast.topics.model import TopicDefaults

MAX_CONCURRENCY = 4
"""Batches of one target at once: one that hangs takes no more of the account's calls."""
OBJECT_FACTS = ("off", "on", "all")
NOT_FOR_THE_FUNCTION = options_of(Common).keys() - options_of(Shaped).keys()
"""What the deploy reads and the function has no use for."""


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """A bucket that the deploy wires to the ingress queue."""

    create: OnOff = option("make the bucket, or take one that is there", default="on")
    via: Literal["sqs", "eventbridge"] = option("how S3 sends its events", default="sqs")
    access_events: OnOff = option(
        "also Get, Head and the like, as rules ask for them: CloudTrail's, $1.00 per million",
        default="off",
    )


@dataclass(frozen=True, kw_only=True)
class RemovedOptions:
    """Targets that are not in the configuration any more."""

    discard: Csv = option(
        "ARNs of removed targets of which a deploy may give up what waits; without them it refuses",
        default="",
        example="arn:minio:sqs::old:webhook",
    )


@dataclass(frozen=True, kw_only=True)
class DeployOptions:
    """What the target's function needs; Bucketcast's own, not MinIO's."""

    profile: Literal["latency", "throughput"] = option(
        "latency: 10 messages at once, without waiting; throughput: thousands, after up to 1 s",
        default="latency",
    )
    memory: int = option("MB of the function, 128 to 10240", default="512")
    timeout: Duration = option("how long one batch may take, 1s to 15m", default="60s")
    max_concurrency: int = option(
        "how many batches at once, 2 to 1000; 0 is no limit of its own. MinIO's "
        "max_open_connections counts where this is not there",
        default=str(MAX_CONCURRENCY),
    )
    vpc: str = option("id of the VPC that the function runs in", default="", example="vpc-0abc")
    subnets: Csv = option("ids of its subnets", default="", example="subnet-0a,subnet-0b")
    security_groups: Csv = option("ids of its security groups", default="", example="sg-0a")
    facts: Csv = option(
        "what it is told of every object: metadata (and content type), tags; needs object_facts",
        default="",
        example="metadata,tags",
    )
    tls_skip_verify: OnOff = option(
        "say it here too where a target's tls_skip_verify is meant for AWS", default="off"
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


@dataclass(frozen=True, slots=True)
class TargetConfig:
    """One configured target; `settings` holds references in place of secrets.

    Of one that is not `enabled` all is there, but nothing is sent: its events wait.
    """

    kind: str
    id: str
    settings: Mapping[str, str]
    deploy: Deploy
    plain_secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    enabled: bool = True

    @property
    def arn(self) -> Arn:
        return Arn(id=self.id, type=targets.load(self.kind).arn_type)

    @property
    def is_mirror(self) -> bool:
        """Whether it shows what its buckets show."""
        declared: Any = targets.load(self.kind).Settings
        known = options_of(declared).get("format")
        text = self.settings.get("format", "")
        return known is not None and known.parse(text or known.default) == "namespace"

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
    by which secrets and reports are encrypted. `reserved` are the calls at once that are kept free
    for ingest, 0 for none. `nested` is whether what holds nothing stands in stacks of its own.
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
    reserved: int = 0
    nested: bool = False
    topics: TopicDefaults = field(default_factory=TopicDefaults)

    @property
    def plain_secrets(self) -> list[Mapping[str, str]]:
        """What a local deploy was given in plain text, by the names of the secrets."""
        own = [self.entry.plain_secrets] if self.entry else []
        return [*own, *(each.plain_secrets for each in self.targets)]

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
