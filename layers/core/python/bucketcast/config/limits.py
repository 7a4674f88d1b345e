"""What a target's function may be given, beyond what the single options allow."""

from collections.abc import Iterator

from bucketcast.config.model import Deploy, DeployOptions
from bucketcast.config.network import addresses, network
from bucketcast.errors import ConfigError
from bucketcast.rules.conditions import FACTS
from bucketcast.targets.base import SPARE


def deploy(options: DeployOptions, connections: int, *, said: bool) -> Deploy:
    """What they amount to; `connections` is MinIO's `max_open_connections`, 0 for none.

    `said` is whether `max_concurrency` was, rather than left to its default.
    """
    most = options.max_concurrency if said or not connections else connections
    return Deploy(
        options.profile,
        options.memory,
        round(options.timeout),
        most or None,
        options.vpc or None,
        options.subnets,
        options.security_groups,
        options.facts,
        bool(options.tls_skip_verify),
        options.allow_private,
    )


def validation_errors(
    options: DeployOptions, target: str, connections: int, object_facts: str, *, said: bool
) -> Iterator[ConfigError]:
    """What is wrong with them; `target` stands before each key, `said` is as for `deploy`."""
    where = f"{target}.deploy"
    own = said or not connections
    most = options.max_concurrency if own else connections
    given = f"{where}.max_concurrency" if own else ""
    limits = (
        (f"{where}.memory", options.memory, 128, 10_240),
        (f"{where}.timeout", options.timeout, 1, 900),
        (given or f"{target}.max_open_connections", most or 2, 2, 1_000),
    )
    for key, found, low, high in limits:
        if not low <= found <= high:
            yield ConfigError(key, f"found {found:g}", f"allowed is {low} to {high}")
    yield from _facts(options.facts, f"{where}.facts", object_facts)
    yield from network(options, where)
    yield from addresses(options.allow_private, where)


def time(max_send_seconds: float, made: Deploy, target: str) -> Iterator[ConfigError]:
    """A function that ends in the middle of a batch would send all of it again."""
    least = max_send_seconds + SPARE
    if 1 <= made.timeout < least:
        yield ConfigError(
            f"{target}.deploy.timeout",
            f"found {made.timeout}s",
            f"allowed is {least:g}s or more, the longest that one batch to this target may take",
        )


def _facts(wanted: tuple[str, ...], where: str, object_facts: str) -> Iterator[ConfigError]:
    if unknown := [fact for fact in wanted if fact not in FACTS]:
        yield ConfigError(where, f"found {unknown[0]!r}", f"allowed are {', '.join(FACTS)}")
    elif wanted and object_facts == "off":
        yield ConfigError(
            where,
            'found beside object_facts = "off"',
            'set object_facts = "on" at the top of the file',
        )
