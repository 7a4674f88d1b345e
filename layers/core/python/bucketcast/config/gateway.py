"""The table `[gateway]`: the gateway's functions on AWS."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bucketcast.settings.options import Limits, option
from bucketcast.settings.types import Csv, OnOff
from bucketcast.targets.base.options import ValidationError


def bucket_pattern(text: str) -> str:
    """Return the name of a bucket, or the beginning of names with a *.

    Raises:
        ValueError: it is neither; the state table's own partitions begin with another character.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*\*?|\*", text):
        raise ValueError("allowed are a bucket's name, the beginning of names and a *, or *")
    return text


@dataclass(frozen=True, kw_only=True)
class GatewayOptions:
    """The URLs of the gateway, and how many calls they serve at once."""

    function_url: OnOff = option(
        "serve the APIs of notifications and topics at a function URL, for mc and the SDKs",
        default="off",
    )
    reserved_concurrency: int = option(
        "concurrent executions reserved for the function, and its maximum, for all who call its "
        "URL; 0 reserves none: whoever calls may then use up the account's",
        default="5",
        limits=Limits("0", "1000"),
    )
    listen_concurrency: int = option(
        "listeners that are served at once, at a URL of their own, each by a reserved concurrent "
        "execution; 0 switches listening off",
        default="0",
        example="10",
        limits=Limits("0", "500"),
    )
    listeners_per_user: int = option(
        "listeners that a user may have there, with those that ended within a minute; 0 is half of "
        "listen_concurrency",
        default="0",
        limits=Limits("0", "150"),
    )
    buckets: Csv = option(
        "the buckets whose notifications the functions may change, with * for any end or for all; "
        "without them those of the tables [bucket.NAME]",
        default="",
        example="uploads,team-*",
        parse=bucket_pattern,
    )

    @property
    def reserved(self) -> int:
        """The concurrent executions that no other function of the account may use."""
        return self.reserved_concurrency + self.listen_concurrency if self.function_url else 0

    @property
    def user_listeners(self) -> int:
        """The listeners that a user may have on AWS."""
        return self.listeners_per_user or (self.listen_concurrency + 1) // 2

    def validation_errors(self) -> Iterator[ValidationError]:
        """Yield an error for each option that another one requires."""
        if self.listen_concurrency and not self.function_url:
            found = f"found {self.listen_concurrency}"
            yield "listen_concurrency", found, 'it needs function_url = "on" beside it'
        if self.listeners_per_user > self.listen_concurrency:
            found = f"found {self.listeners_per_user}"
            yield "listeners_per_user", found, "allowed are listen_concurrency and less"
