"""The table `[ingest]`: options of the function that reads the ingress queue."""

from dataclasses import dataclass
from typing import Final

from bucketcast.errors import ConfigError
from bucketcast.limits import INGEST_CONCURRENCY
from bucketcast.settings.options import Limits, option
from bucketcast.settings.types import WholeSeconds

SMALL_ACCOUNT: Final = (
    "ingest: {} of the account's concurrent executions are reserved for it; in a new account, "
    "limited to 10, set [ingest] reserved_concurrency = 0"
)
SHARED: Final = (
    "ingest.reserved_concurrency is 0: other functions that use up the account's concurrency "
    "delay the events of every target"
)


@dataclass(frozen=True, kw_only=True)
class IngestOptions:
    """The function that reads all events and matches rules."""

    reserved_concurrency: int = option(
        "concurrent executions reserved for it, and its maximum; 0 reserves none, for accounts "
        "limited to 10 (a local deploy's default)",
        default=str(INGEST_CONCURRENCY),
        limits=Limits("3", "1000", or_zero=True),
    )
    window: WholeSeconds = option(
        "gather events for so long, so that many share a call; 1s if all targets have the "
        "throughput profile",
        default="0",
        example="1s",
        limits=Limits("1s", "5m", or_zero=True),
    )


def facts_error(key: str) -> ConfigError:
    """Return the error of an option that wants object facts, which are off."""
    allowed = 'set object_facts = "on" at the top of bucketcast.toml, and deploy'
    return ConfigError(key, 'found beside object_facts = "off"', allowed)


def note(reserved: int) -> str:
    """Return the note on reserved concurrency for a deploy to an account."""
    return SMALL_ACCOUNT.format(reserved) if reserved else SHARED
