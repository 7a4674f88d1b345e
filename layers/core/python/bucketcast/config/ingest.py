"""The table `[ingest]`: options of the function that reads the ingress queue."""

from dataclasses import dataclass

from bucketcast.errors import ConfigError
from bucketcast.limits import INGEST_CONCURRENCY, QUIET_WINDOW_SECONDS
from bucketcast.settings.options import Limits, option
from bucketcast.settings.types import WholeSeconds


@dataclass(frozen=True, kw_only=True)
class IngestOptions:
    """The function that reads all events and matches rules."""

    reserved_concurrency: int = option(
        "concurrent executions reserved for it, and its maximum; 0 reserves none, and "
        f"{INGEST_CONCURRENCY} are its maximum",
        default="0",
        limits=Limits("3", "1000", or_zero=True),
    )
    window: WholeSeconds = option(
        "gather events for so long, so that many share a call, or up to "
        f"{QUIET_WINDOW_SECONDS} s while few come; 1s if all targets have the throughput profile",
        default="0",
        example="1s",
        limits=Limits("1s", "5m", or_zero=True),
    )

    @property
    def max_concurrency(self) -> int:
        """The batches at once: one fewer than the reserved calls.

        A refused call would hide its messages for a minute, and Lambda may begin one before it has
        counted another's end.
        """
        return self.reserved_concurrency - 1 if self.reserved_concurrency else INGEST_CONCURRENCY


def facts_error(key: str) -> ConfigError:
    """Return the error of an option that wants object facts, which are off."""
    allowed = 'set object_facts = "on" at the top of bucketcast.toml, and deploy'
    return ConfigError(key, 'found beside object_facts = "off"', allowed)
