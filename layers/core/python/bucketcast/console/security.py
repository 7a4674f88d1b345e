"""Admit only the person who started the console, and only from its own pages.

The command prints an address with a token. The first request exchanges it for a cookie, so that it
does not stay in the address. Another user of the machine has neither, a page of another origin
cannot use the cookie, and a name that was rebound to 127.0.0.1 is refused by its `Host`.
"""

import hmac
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bucketcast.console.pages import render

HOST: Final = "127.0.0.1"
TOKEN: Final = "token"  # noqa: S105 - the name of a parameter
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; "
    "base-uri 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    # Its own pages get it: without it, browsers send `Origin: null` with forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Set where the response has no such header of its own."""
_STYLE: Final = "/static/console.css"
_SAFE: Final = ("GET", "HEAD")


class Guard:
    """An ASGI app in front of the console's, at one port of this machine."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._token = token.encode()
        names = {HOST, "localhost"}
        self._hosts = {f"{name}:{port}" for name in names}
        if port == 80:  # noqa: PLR2004 - HTTP's own, which browsers leave out
            self._hosts |= names
        # Cookies do not know ports: two consoles would replace each other's.
        self._cookie = f"bucketcast-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(HTTPConnection(scope), scope["method"])
        await (refusal or self._app)(scope, receive, send_with_headers)

    def _refusal(self, request: HTTPConnection, method: str) -> Response | None:
        """Return the response to a request that the app must not see, None for all others."""
        host = request.headers.get("host", "")
        if host not in self._hosts:
            return _refuse("This is not the address of the console.", 421)
        if TOKEN in request.query_params and method in _SAFE:
            return self._exchange(request)
        if request.url.path == _STYLE:
            return None  # of the page that refuses, too
        if not self._is_valid(request.cookies.get(self._cookie, "")):
            return self._refuse_stranger(request, method)
        if method not in _SAFE and not _is_own(request, f"http://{host}"):
            return _refuse("Another page sent this request. Nothing was changed.", 403)
        return None

    def _is_valid(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self._token)

    def _exchange(self, request: HTTPConnection) -> Response:
        """Set the cookie, and redirect to the same address without the token."""
        if not self._is_valid(request.query_params[TOKEN]):
            return self._refuse_stranger(request, "GET")
        pairs = parse_qsl(request.url.query, keep_blank_values=True)
        query = urlencode([pair for pair in pairs if pair[0] != TOKEN])
        # Two slashes would begin the name of another host.
        path = "/" + request.url.path.lstrip("/")
        response = RedirectResponse(f"{path}?{query}" if query else path, 303)
        response.set_cookie(
            self._cookie, self._token.decode(), path="/", httponly=True, samesite="strict"
        )
        return response

    def _refuse_stranger(self, request: HTTPConnection, method: str) -> Response:
        response = _refuse(
            "Open the address that `bucketcast console` printed when it started: it has the token.",
            403,
        )
        if method in _SAFE and request.headers.get("sec-fetch-site") == "cross-site":
            # The cookie does not come with a click on a link elsewhere; it does when this page
            # loads itself.
            response.headers["Refresh"] = "0"
        return response


def _is_own(request: HTTPConnection, origin: str) -> bool:
    """Return True if one of the console's pages sent the request."""
    site = request.headers.get("sec-fetch-site", "same-origin")
    return site == "same-origin" and request.headers.get("origin") == origin


def _refuse(text: str, status: int) -> Response:
    return HTMLResponse(render("refused.html", text=text), status)
