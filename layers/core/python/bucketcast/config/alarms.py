"""The table `[alarms]`: who is told when an alarm fires."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from bucketcast.errors import ConfigError
from bucketcast.options import option

NOBODY: Final = (
    "the alarms page nobody: name a topic or an address in [alarms], or look at CloudWatch yourself"
)
_TOPIC: Final = re.compile(r"arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,256}")
_EMAIL: Final = re.compile(r"[^@\s,;]+@[^@\s,;]+\.[^@\s,;.]+")
_ALLOWED: Final = {
    "topic": (_TOPIC, "the ARN of a standard SNS topic, arn:aws:sns:REGION:ACCOUNT:NAME"),
    "email": (_EMAIL, "one address, such as ops@example.org; for several give a topic"),
}


@dataclass(frozen=True, kw_only=True)
class AlarmOptions:
    """Who is told; one of the two."""

    topic: str = option(
        "ARN of an SNS topic of the stack's region, which CloudWatch may publish to",
        default="",
        example="arn:aws:sns:eu-central-1:111122223333:pages",
    )
    email: str = option(
        "address that a topic of the stack's own writes to, once it has confirmed; the topic's "
        "key costs $1.00 a month",
        default="",
        example="ops@example.org",
    )


def mistakes(values: Mapping[str, str]) -> Iterator[ConfigError]:
    """What is wrong with the table beyond what each option allows."""
    given = {key: values[key] for key in _ALLOWED if values.get(key)}
    for key, text in given.items():
        pattern, allowed = _ALLOWED[key]
        if not pattern.fullmatch(text):
            yield ConfigError(f"alarms.{key}", f"found {text!r}", f"allowed is {allowed}")
    if len(given) != 1:
        found = "found beside topic" if given else "missing"
        yield ConfigError("alarms.email", found, "topic or email is needed, and one of them")
