"""Buckets, and how they are connected."""

from starlette.requests import Request
from starlette.responses import Response

from bucketcast.console.answers import run
from bucketcast.console.pages import page
from bucketcast.notifications.command.bucket_ls import ls


def show(request: Request) -> Response:
    return page(request, "Buckets", sections=[run(request, ls, "bucket ls")])
