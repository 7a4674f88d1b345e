"""The table `[gateway]`: the gateway's functions on AWS."""

from collections.abc import Iterator
from dataclasses import dataclass

from bucketcast.settings.options import Limits, option
from bucketcast.settings.types import OnOff
from bucketcast.targets.base.options import ValidationError


@dataclass(frozen=True, kw_only=True)
class GatewayOptions:
    """The URLs of the gateway, and how many calls they serve at once."""

    function_url: OnOff = option(
        "serve the APIs of notifications and topics at a function URL, for mc and the SDKs",
        default="off",
    )
    reserved_concurrency: int = option(
        "concurrent executions reserved for the function, and its maximum, for all who call its "
        "URL; 0 reserves none",
        default="0",
        limits=Limits("0", "1000"),
    )
    listen_concurrency: int = option(
        "listeners that are served at once, at a URL of their own, each by a reserved concurrent "
        "execution; 0 switches listening off",
        default="0",
        example="10",
        limits=Limits("0", "500"),
    )

    def validation_errors(self) -> Iterator[ValidationError]:
        """Yield an error for each option that another one requires."""
        if self.listen_concurrency and not self.function_url:
            found = f"found {self.listen_concurrency}"
            yield "listen_concurrency", found, 'it needs function_url = "on" beside it'
