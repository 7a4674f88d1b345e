"""The table `[ingest]`: what the function that reads the ingress queue is given."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bucketcast.errors import ConfigError
from bucketcast.options import option

RESERVED: Final = 20
"""Some 5,000 messages of S3's a second."""
SMALL_ACCOUNT: Final = (
    "ingest: of the account's concurrent calls {} are kept free for it; an account that is "
    "limited to 10, as new ones are, lets none be: it takes [ingest] reserved_concurrency = 0"
)
SHARED: Final = (
    "ingest.reserved_concurrency is 0: other functions that take all of the account's concurrent "
    "calls hold up every target's events"
)
_MOST: Final = 1_000


@dataclass(frozen=True, kw_only=True)
class IngestOptions:
    """The function that reads all events and asks the rules."""

    reserved_concurrency: int = option(
        "calls at once that are kept free for it and that it has at most, 2 to 1000; 0 is none, as "
        "in an account that is limited to 10 and for a local deploy",
        default=str(RESERVED),
    )


def mistakes(options: IngestOptions) -> Iterator[ConfigError]:
    """What is wrong with them, beyond what the single options show."""
    found = options.reserved_concurrency
    if found and not 2 <= found <= _MOST:  # noqa: PLR2004 - the least that a mapping takes
        yield ConfigError(
            "ingest.reserved_concurrency", f"found {found}", f"allowed is 0, or 2 to {_MOST}"
        )


def note(reserved: int) -> str:
    """What whoever deploys to an account should know."""
    return SMALL_ACCOUNT.format(reserved) if reserved else SHARED
