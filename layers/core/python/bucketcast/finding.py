"""`bucketcast doctor`: what is wrong with a deployment, and what to do.

A check returns findings. The checks here are pure: they get what `aws/doctor` and the functions
read. A module has the checks of one area. What CloudFormation made is not compared with the
template: drift detection does that.
"""

from dataclasses import dataclass
from typing import Final, Literal

Status = Literal["ok", "warn", "error"]
BY_HAND: Final = (
    "CloudFormation does not create again what was deleted by hand; "
    "`aws cloudformation detect-stack-drift` lists it"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found about one subject, such as a target's ARN or a bucket.

    `hint` is a sentence, "" if nothing is wrong. `command` does it, "" if no single command does.
    """

    check: str
    subject: str
    status: Status
    found: str
    hint: str = ""
    command: str = ""


def not_checked(check: str, subject: str, why: str) -> Finding:
    """Return the finding for what could not be read."""
    hint = "give this login the permission that is named, or use another with AWS_PROFILE"
    return Finding(check, subject, "warn", f"not checked: {why}", hint)
