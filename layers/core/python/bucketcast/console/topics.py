"""Topics."""

from starlette.requests import Request
from starlette.responses import Response

from bucketcast.console.pages import page


def show(request: Request) -> Response:
    return page(request, "topics.html")
