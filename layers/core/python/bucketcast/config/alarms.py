"""The table `[alarms]`: the recipient of alarms."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bucketcast.settings.options import option
from bucketcast.settings.types import SNS_TOPIC
from bucketcast.targets.base.options import ValidationError

NO_RECIPIENT: Final = "alarms notify no one: set a topic or an email address in [alarms]"


@dataclass(frozen=True, kw_only=True)
class AlarmOptions:
    """The recipient of alarms; set one of the two."""

    topic: str = option(
        "ARN of an SNS topic in the stack's region; its policy must allow CloudWatch to publish",
        default="",
        example="arn:aws:sns:eu-central-1:111122223333:pages",
        parse=SNS_TOPIC,
    )
    email: str = option(
        "email address, subscribed to a topic of the stack; it has to confirm first; the topic's "
        "key costs $1.00 a month",
        default="",
        example="ops@example.org",
    )

    def validation_errors(self) -> Iterator[ValidationError]:
        """Yield an error unless exactly one of the two is set, and well-formed."""
        if self.email and not re.fullmatch(r"[^@\s,;]+@[^@\s,;]+\.[^@\s,;.]+", self.email):
            allowed = "one address, such as ops@example.org; for several give a topic"
            yield "email", f"found {self.email!r}", f"allowed is {allowed}"
        if bool(self.topic) == bool(self.email):
            problem = "found beside topic" if self.email else "missing"
            yield "email", problem, "set either topic or email"
