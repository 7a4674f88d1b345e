"""The options of an IAM login, and the rights that the function's role needs for it."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Final, Literal, NamedTuple

from bucketcast.errors import NotAuthorized
from bucketcast.targets.base import options

HINT: Final = (
    "check iam_resource, the permissions of the function's role, and whether the service's user "
    "accepts IAM logins"
)
"""The hint for a refused IAM login."""


class Right(NamedTuple):
    """Actions of IAM, and the ARNs that they are allowed on."""

    actions: Sequence[str]
    resources: Sequence[str]


Auth = Literal["password", "iam"]


AUTH_HELP: Final = (
    "password: the configured login; iam: the function's IAM role, without a password"
)


class IamLogin:
    """A login to an AWS service by the function's role instead of a password.

    Each kind declares both options itself, with its own help and position.
    """

    auth: Auth
    iam_resource: str
    iam_pattern: ClassVar[re.Pattern[str]]
    """The pattern of `iam_resource`, made by `arn_pattern`."""

    @property
    def by_iam(self) -> bool:
        """True if the function's role logs in."""
        return self.auth == "iam"

    @property
    def iam_parts(self) -> re.Match[str]:
        """The parts of `iam_resource`.

        Raises:
            NotAuthorized: it is not such an ARN.
        """
        match = self.iam_pattern.fullmatch(self.iam_resource)
        if not match:
            example = options.example_of(self, "iam_resource")
            raise NotAuthorized(f"iam_resource is not an ARN such as {example}")
        return match

    def iam_rights(self) -> Sequence[Right]:
        """Return the rights that the role needs; for valid settings with `auth = iam` only."""
        raise NotImplementedError


def errors(settings: Any, *, passwords: Sequence[str]) -> Iterator[options.ValidationError]:
    """Yield the errors in the options of an IAM login; `passwords` are those of other logins."""
    yield from options.reference_errors(settings, "auth")
    if not settings.by_iam:
        if settings.iam_resource:
            yield "iam_resource", "given without auth = iam", "allowed is auth = iam beside it"
        return
    arn, example = settings.iam_resource, options.example_of(settings, "iam_resource")
    if not arn:
        yield "iam_resource", "missing", f"auth = iam needs an ARN, for example {example}"
    elif options.is_reference(arn):
        yield from options.reference_errors(settings, "iam_resource")
    elif not settings.iam_pattern.fullmatch(arn):
        yield "iam_resource", f"found {arn!r}", f"allowed is an ARN such as {example}"
    for key in passwords:
        if getattr(settings, key):
            yield key, "given beside auth = iam", "allowed is one login: leave it out"
    if getattr(settings, "tls_skip_verify", False):
        yield "tls_skip_verify", "found on", "auth = iam shows the login to a verified server only"
    if not getattr(settings, "tls", True):
        yield "tls", "found off", "auth = iam needs tls = on"


def arn_pattern(service: str, resource: str) -> re.Pattern[str]:
    """Return the pattern of a service's ARNs, with the groups `region` and those of `resource`."""
    head = rf"(?P<head>arn:aws[a-z-]*:{service}:(?P<region>[a-z0-9-]+):[0-9]{{12}}:)"
    return re.compile(head + resource)
