"""The audit log: a line for each call that changes something or is refused.

::

    {"message": "audit", "user": "ann", "access_key": "BC…", "source": "192.0.2.7",
     "call": "PUT ?notification", "bucket": "images", "status": 200, "request_id": "D82B88E5…"}

S3's events of the call have the same request id. Keys of objects, queries and secrets are in no
line. A call that is not signed has no user, and one with a wrong signature the access key that it
claims.
"""

from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qsl

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bucketcast.telemetry import record
from bucketcast.web.authentication import AUDITED

_REQUEST_ID: Final = b"x-amz-request-id"
_READS: Final = ("GET", "HEAD", "OPTIONS")
_REFUSED: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


class Audit:
    """Wraps the application, and writes a line after each audited call."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer: dict[str, Any] = {"status": 0, "request_id": ""}

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = dict(message["headers"])
                answer["status"] = message["status"]
                answer["request_id"] = headers.get(_REQUEST_ID, b"").decode("latin-1")
            await send(message)

        audited: dict[str, Any] = {"user": "", "access_key": "", "bucket": "", "action": ""}
        scope[AUDITED] = audited
        try:
            await self._app(scope, receive, send_on)
        except Exception:
            # The framework answers it outside of this application.
            answer["status"] = answer["status"] or HTTPStatus.INTERNAL_SERVER_ERROR
            raise
        finally:
            if answer["status"] in _REFUSED or self._changes(scope, audited):
                source, _ = scope.get("client") or ("", 0)
                action = audited.pop("action")
                call = f"{scope['method']} {action or _subresource(scope)}".strip()
                record("audit", **audited, source=source, call=call, **answer)

    @staticmethod
    def _changes(scope: Scope, audited: dict[str, Any]) -> bool:
        action = str(audited["action"])
        return scope["method"] not in _READS and not action.startswith(("Get", "List"))


def _subresource(scope: Scope) -> str:
    """Return the part of S3's API that a query names, such as `?notification`."""
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    return "".join(f"?{name}" for name, value in pairs if not value and name.isalpha())[:100]
