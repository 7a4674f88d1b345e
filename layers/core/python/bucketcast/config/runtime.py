"""The table `[runtime]`: for which kinds targets can be made at run time, and their functions."""

from collections.abc import Iterator
from dataclasses import dataclass

from bucketcast import targets
from bucketcast.config.network import addresses, network
from bucketcast.errors import ConfigError, did_you_mean
from bucketcast.settings.options import Csv, Duration, OnOff, option

ALL = "all"
OFF = "off"
ON_AWS = ("amqp", "kafka", "webhook")
"""Each kind is a function more; these are the kinds that Ceph's topics have."""


@dataclass(frozen=True, kw_only=True)
class RuntimeOptions:
    """The functions that serve targets made at run time, one a kind."""

    kinds: Csv = option(
        f"the kinds, {ALL} or {OFF}; by default {', '.join(ON_AWS)}, and {ALL} for a local deploy",
        default="",
        example="webhook,redis",
    )
    memory: int = option("MB of each function, 128 to 10240", default="512")
    timeout: Duration = option("how long one batch may take, 1s to 15m", default="60s")
    max_concurrency: int = option(
        "how many batches of a target at once, 2 to 1000; 0 is no limit of its own", default="4"
    )
    vpc: str = option("id of the VPC that the functions run in", default="", example="vpc-0abc")
    subnets: Csv = option("ids of its subnets", default="", example="subnet-0a,subnet-0b")
    security_groups: Csv = option("ids of its security groups", default="", example="sg-0a")
    allow_private: Csv = option(
        "private and loopback hosts, addresses or networks that webhooks and HTTP topics on AWS "
        "may connect to; others cannot even in a VPC, as topics are given by users",
        default="",
        example="hooks.internal,10.0.0.0/8",
    )
    tls_skip_verify: OnOff = option(
        "let targets that are made at run time on AWS skip the check of certificates", default="off"
    )


@dataclass(frozen=True, slots=True)
class RuntimeConfig:
    """`RuntimeOptions`, checked: MB, seconds, and None where there is no limit or VPC."""

    kinds: tuple[str, ...] = ON_AWS
    memory: int = 512
    timeout: int = 60
    max_concurrency: int | None = 4
    vpc: str | None = None
    subnets: tuple[str, ...] = ()
    security_groups: tuple[str, ...] = ()
    tls_skip_verify: bool = False
    allow_private: tuple[str, ...] = ()


def validation_errors(options: RuntimeOptions) -> Iterator[ConfigError]:
    """What is wrong with them, beyond what the single options show."""
    known = (*targets.kinds(), ALL, OFF)
    for kind in options.kinds:
        if kind not in known:
            allowed = f"{did_you_mean(kind, known)}allowed are {', '.join(known)}"
            yield ConfigError("runtime.kinds", f"found {kind!r}", allowed)
    if len(options.kinds) > 1 and {ALL, OFF} & set(options.kinds):
        yield ConfigError(
            "runtime.kinds", f"found {', '.join(options.kinds)}", f"{ALL} and {OFF} stand alone"
        )
    limits = (
        ("memory", options.memory, 128, 10_240),
        ("timeout", options.timeout, 1, 900),
        ("max_concurrency", options.max_concurrency or 2, 2, 1_000),
    )
    for key, found, low, high in limits:
        if not low <= found <= high:
            yield ConfigError(f"runtime.{key}", f"found {found:g}", f"allowed is {low} to {high}")
    yield from network(options, "runtime")
    yield from addresses(options.allow_private, "runtime")


def runtime(options: RuntimeOptions, *, local: bool) -> RuntimeConfig:
    """What they amount to."""
    kinds: tuple[str, ...] = options.kinds or ((ALL,) if local else ON_AWS)
    if kinds == (OFF,):
        kinds = ()
    elif kinds == (ALL,):
        kinds = targets.kinds()
    return RuntimeConfig(
        tuple(sorted(set(kinds))),
        options.memory,
        round(options.timeout),
        options.max_concurrency or None,
        options.vpc or None,
        options.subnets,
        options.security_groups,
        bool(options.tls_skip_verify),
        options.allow_private,
    )
