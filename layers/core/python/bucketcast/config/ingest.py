"""The table `[ingest]`: what the function that reads the ingress queue is given."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bucketcast.errors import ConfigError
from bucketcast.settings.options import Duration, option

RESERVED: Final = 20
"""Some 5,000 messages of S3's a second."""
SMALL_ACCOUNT: Final = (
    "ingest: {} of the account's concurrent executions are reserved for it; in a new account, "
    "limited to 10, set [ingest] reserved_concurrency = 0"
)
SHARED: Final = (
    "ingest.reserved_concurrency is 0: other functions that use up the account's concurrency "
    "delay the events of every target"
)
_MOST: Final = 1_000
_LONGEST_WINDOW: Final = 300


@dataclass(frozen=True, kw_only=True)
class IngestOptions:
    """The function that reads all events and matches rules."""

    reserved_concurrency: int = option(
        "concurrent executions reserved for it, which is also its maximum, 2 to 1000; 0 reserves "
        "none, for accounts limited to 10 (a local deploy's default)",
        default=str(RESERVED),
    )
    window: Duration = option(
        "gather events for so long, 1s to 5m, so that many share a call: at 10 events per second "
        "1s saves five sixths of the cost; 1s if all targets have the throughput profile",
        default="0",
        example="1s",
    )


def validation_errors(options: IngestOptions) -> Iterator[ConfigError]:
    """What is wrong with them, beyond what the single options show."""
    found = options.reserved_concurrency
    if found and not 2 <= found <= _MOST:  # noqa: PLR2004 - the least that a mapping takes
        yield ConfigError(
            "ingest.reserved_concurrency", f"found {found}", f"allowed is 0, or 2 to {_MOST}"
        )
    window = options.window
    if window % 1 or window > _LONGEST_WINDOW:
        allowed = f"allowed is 0, or whole seconds from 1s to {_LONGEST_WINDOW}s"
        yield ConfigError("ingest.window", f"found {window:g}s", allowed)


def note(reserved: int) -> str:
    """What whoever deploys to an account should know."""
    return SMALL_ACCOUNT.format(reserved) if reserved else SHARED
