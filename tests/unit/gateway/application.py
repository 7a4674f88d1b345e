"""The gateway's application, which lets anna make any call."""

from collections.abc import Sequence
from typing import Any

from starlette.applications import Starlette

from bucketcast.gateway.app import S3, build
from bucketcast.web.request import RawRequest
from tests.unit.web.requests import allow, authenticator, ready


def application(
    s3: Any,
    *,
    judge: Any = allow,
    answers: Any = None,
    preflight: Any = None,
    domains: Sequence[str] = (),
    is_ready: Any = ready,
) -> Starlette:
    """Return an application that asks S3 for what `answers` does not answer."""
    parts = (judge, answers or forward, s3)
    return build(S3(authenticator(domains=domains), *parts, preflight=preflight), is_ready=is_ready)


def forward(_: RawRequest) -> None:
    """Answer nothing."""
