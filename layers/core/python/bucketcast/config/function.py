"""Options of the functions that send: `[….deploy]` of a target, and `[dynamic_targets]`."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from bucketcast import limits, targets
from bucketcast.errors import ConfigError
from bucketcast.limits import SETTLE_SECONDS, TARGET_CONCURRENCY
from bucketcast.settings import egress
from bucketcast.settings.egress import PRIVATE, Egress
from bucketcast.settings.options import Limits, option
from bucketcast.settings.types import Csv, OnOff, WholeSeconds, choice
from bucketcast.targets.base.options import ValidationError

ALL = "all"
OFF = "off"


@dataclass(frozen=True, kw_only=True)
class FunctionOptions:
    """The options of every function that sends."""

    memory: int = option(
        "memory of the function in MB",
        default=str(limits.MEMORY_MB),
        limits=Limits("128", "10240"),
    )
    max_concurrency: int | None = option(
        "concurrent batches of a target, if it is not set the max_open_connections of a deployed "
        "one; 0 means no limit",
        default=str(TARGET_CONCURRENCY),
        limits=Limits("2", "1000", or_zero=True),
    )
    vpc: str | None = option(
        "id of the VPC that the function runs in", default="", example="vpc-0abc"
    )
    subnets: Csv = option("ids of its subnets", default="", example="subnet-0a,subnet-0b")
    security_groups: Csv = option("ids of its security groups", default="", example="sg-0a")

    def validation_errors(self) -> Iterator[ValidationError]:
        """Yield an error for each option that another one requires."""
        if bool(self.subnets) != bool(self.vpc):
            key, other = ("vpc", "subnets") if self.subnets else ("subnets", "vpc")
            needed = f"a function in a VPC needs it beside {other}"
            yield key, "missing", needed


@dataclass(frozen=True, kw_only=True)
class Deploy(FunctionOptions):
    """Options of a target's function; Bucketcast's own, not MinIO's."""

    profile: Literal["latency", "throughput"] = option(
        "latency: up to 10 messages per batch, no delay; throughput: thousands, gathered for 1 s, "
        f"or up to {limits.QUIET_WINDOW_SECONDS} s while few come",
        default="latency",
    )
    timeout: WholeSeconds = option(
        "timeout of one batch", default=f"{limits.TIMEOUT_SECONDS}s", limits=Limits("1s", "15m")
    )
    allow_private: Csv = option(
        "private and loopback hosts, addresses or networks that the function on AWS may connect "
        "to; in a VPC all private addresses are allowed",
        default="",
        example="hooks.internal,10.0.0.0/8",
        parse=egress.parse_entry,
    )
    tls_skip_verify: OnOff = option(
        "confirms a target's tls_skip_verify for a deploy to AWS", default="off"
    )

    @property
    def egress(self) -> Egress:
        """The addresses that the function may connect to: in a VPC also all private ones."""
        return Egress((*self.allow_private, *(PRIVATE if self.vpc else ())))

    @property
    def window(self) -> int:
        """The seconds for which the function's messages are gathered."""
        return limits.WINDOW_SECONDS if self.profile == "throughput" else 0


@dataclass(frozen=True, kw_only=True)
class DynamicOptions(FunctionOptions):
    """The functions that serve dynamic targets, one per kind."""

    kinds: Csv = option(
        f"the kinds of targets and topics that are made without a deploy, each one more function; "
        f"{ALL} or {OFF}; {ALL} in a local deploy if it is not set",
        default=OFF,
        example="webhook,redis",
        parse=choice((*targets.kinds(), ALL, OFF)),
    )
    allow_private: Csv = option(
        "private and loopback hosts, addresses or networks that the functions on AWS may connect "
        "to; others are refused even in a VPC, as users create topics",
        default="",
        example="hooks.internal,10.0.0.0/8",
        parse=egress.parse_entry,
    )
    tls_skip_verify: OnOff = option(
        "let dynamic targets on AWS skip certificate verification", default="off"
    )

    def validation_errors(self) -> Iterator[ValidationError]:
        """Yield an error for each option that another one requires or excludes."""
        yield from super().validation_errors()
        if len(self.kinds) > 1 and {ALL, OFF} & set(self.kinds):
            problem = f"found {', '.join(self.kinds)}"
            yield "kinds", problem, f"{ALL} and {OFF} allow no other kind"

    def with_kinds(self) -> "DynamicOptions":
        """Return the options with the kinds themselves instead of `all` and `off`."""
        words = {(ALL,): targets.kinds(), (OFF,): ()}
        return replace(self, kinds=Csv(tuple(sorted(set(words.get(self.kinds, self.kinds))))))


def timeout_errors(max_send_seconds: float, deploy: Deploy, target: str) -> Iterator[ConfigError]:
    """Yield an error if the function could time out in the middle of a batch."""
    least = max_send_seconds + SETTLE_SECONDS
    if deploy.timeout < least:
        yield ConfigError(
            f"{target}.deploy.timeout",
            f"found {deploy.timeout}s",
            f"allowed is {least:g}s or more, the longest that one batch to this target may take",
        )


def url_errors(key: str, url: str, allowed: Egress, table: str) -> Iterator[ConfigError]:
    """Yield an error if a function on AWS would refuse a URL, as far as it shows without DNS."""
    if reason := allowed.refusal_of_url(url):
        allowed_hosts = (
            f"a public address; {egress.OPTION} in [{table}] of bucketcast.toml names others"
        )
        yield ConfigError(
            key, f"found a host that is refused: {reason}", f"allowed is {allowed_hosts}"
        )
