"""The findings of `bucketcast doctor`: what is wrong with a deployment, and what to do.

The checks that return them are in `diagnose`, and beside the features that they check. Resources of
CloudFormation are not compared with the template: drift detection does that.
"""

from typing import Final, Literal

import msgspec

Status = Literal["ok", "warn", "error"]
BY_HAND: Final = (
    "CloudFormation does not create again what was deleted by hand; "
    "`aws cloudformation detect-stack-drift` lists it"
)


class Finding(msgspec.Struct, frozen=True):
    """The result of one check of one subject, such as a target's ARN or a bucket.

    `hint` is a sentence, "" if nothing is wrong. `command` does it, "" if no single command does.
    """

    check: str
    subject: str
    status: Status
    found: str
    hint: str = ""
    command: str = ""


def not_checked(check: str, subject: str, why: str) -> Finding:
    """Return the finding for a subject that could not be read."""
    hint = "give this login the permission that is named, or use another with AWS_PROFILE"
    return Finding(check, subject, "warn", f"not checked: {why}", hint)
