"""The table `[removed]`: targets that are not in the configuration any more."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from bucketcast.destination import TargetArn
from bucketcast.errors import ConfigError
from bucketcast.settings.options import option
from bucketcast.settings.types import Csv
from bucketcast.targets.base.options import ValidationError


@dataclass(frozen=True, kw_only=True)
class RemovedOptions:
    """What a deploy may do with the events of removed targets."""

    discard: Csv = option(
        "ARNs of removed targets whose queued events a deploy may discard; it refuses otherwise",
        default="",
        example="arn:minio:sqs::old:webhook",
    )

    def validation_errors(self) -> Iterator[ValidationError]:
        """Yield an error for each text that is not a target's ARN."""
        for text in self.discard:
            try:
                TargetArn.parse(text)
            except ValueError as error:
                yield "discard", f"found {text!r}", f"the ARN of a target: {error}"

    def configured_errors(self, configured: Collection[str]) -> Iterator[ConfigError]:
        """Yield an error for each ARN of a target that is still `configured`."""
        for arn in self.discard:
            if arn in configured:
                problem = f"found {arn!r}, which is configured"
                yield ConfigError("removed.discard", problem, "only removed targets")
