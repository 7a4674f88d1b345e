"""The table `[alarms]`: who is notified when an alarm fires."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from bucketcast.config import sns_topic
from bucketcast.errors import ConfigError
from bucketcast.settings.options import option

NOBODY: Final = "nobody is notified of alarms: set a topic or an email address in [alarms]"
_EMAIL: Final = re.compile(r"[^@\s,;]+@[^@\s,;]+\.[^@\s,;.]+")
_ALLOWED: Final = {
    "topic": (sns_topic.PATTERN, sns_topic.ALLOWED),
    "email": (_EMAIL, "one address, such as ops@example.org; for several give a topic"),
}


@dataclass(frozen=True, kw_only=True)
class AlarmOptions:
    """Who is notified; set one of the two."""

    topic: str = option(
        "ARN of an SNS topic in the stack's region; its policy must allow CloudWatch to publish",
        default="",
        example="arn:aws:sns:eu-central-1:111122223333:pages",
    )
    email: str = option(
        "email address, subscribed to a topic of the stack; it has to confirm first; the topic's "
        "key costs $1.00 a month",
        default="",
        example="ops@example.org",
    )


def validation_errors(values: Mapping[str, str]) -> Iterator[ConfigError]:
    """What is wrong with the table beyond what each option allows."""
    given = {key: values[key] for key in _ALLOWED if values.get(key)}
    for key, text in given.items():
        pattern, allowed = _ALLOWED[key]
        if not pattern.fullmatch(text):
            yield ConfigError(f"alarms.{key}", f"found {text!r}", f"allowed is {allowed}")
    if len(given) != 1:
        found = "found beside topic" if given else "missing"
        yield ConfigError("alarms.email", found, "set either topic or email")
