"""The audit log: a line for each call that changes something or is refused.

::

    {"message": "audit", "user": "ann", "access_key": "BC…", "source": "192.0.2.7",
     "call": "PutObjectAcl", "bucket": "images", "resource": "",
     "changed": ["x-amz-acl=public-read"], "status": 200, "request_id": "D82B88E5…"}

`resource` is the topic, the target, or the bucket of a copy's source. `changed` are the names of
what changes: headers of S3's calls, attributes, settings, the ARNs of rules. S3's events of the
call have the same request id. Keys of objects, secrets and values, but for canned ACLs, are in no
line. A call that is not signed has no user, and one with a wrong signature the access key that it
claims.
"""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import unquote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bucketcast.gateway.call_names import CallNames
from bucketcast.telemetry import record
from bucketcast.web.authentication import AUDITED
from bucketcast.web.request import COPY_SOURCE, RawRequest

_REQUEST_ID: Final = b"x-amz-request-id"
_READS: Final = ("GET", "HEAD", "OPTIONS")
_READING: Final = ("Get", "List")
_HEADER: Final = "x-amz-"
_ACL: Final = "x-amz-acl"
_OF_ANY_CALL: Final = frozenset(
    _HEADER + name
    for name in (
        "algorithm", "content-sha256", "copy-source", "credential", "date",
        "decoded-content-length", "expires", "security-token", "signature", "signedheaders",
        "trailer", "user-agent",
    )
)  # fmt: skip
_MOST: Final = 20
_LONGEST: Final = 200
_REFUSED: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


class Audit:
    """Wraps the application, and writes a line after each audited call."""

    def __init__(self, app: ASGIApp, names: CallNames) -> None:
        self._app = app
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer: dict[str, Any] = {"status": 0, "request_id": ""}

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = dict(message["headers"])
                answer["status"] = message["status"]
                answer["request_id"] = headers.get(_REQUEST_ID, b"").decode("latin-1")
            await send(message)

        audited: dict[str, Any] = {
            "user": "",
            "access_key": "",
            "bucket": "",
            "resource": "",
            "changed": [],
        }
        scope[AUDITED] = audited
        try:
            await self._app(scope, receive, send_on)
        except Exception:
            # The framework answers it outside of this application.
            answer["status"] = answer["status"] or HTTPStatus.INTERNAL_SERVER_ERROR
            raise
        finally:
            action, request = audited.pop("action", ""), audited.pop("request", None)
            changes = scope["method"] not in _READS and not action.startswith(_READING)
            if answer["status"] in _REFUSED or changes:
                source, _ = scope.get("client") or ("", 0)
                if request and not action:
                    audited["resource"] = _sources(request)
                    audited["changed"] += _headers(request)
                call = action or (self._names.name(request) if request else scope["method"])
                named = sorted(name[:_LONGEST] for name in audited.pop("changed"))[:_MOST]
                record("audit", **audited, source=source, call=call, changed=named, **answer)


def _sources(request: RawRequest) -> str:
    """Return the buckets of a copy's sources."""
    sources = (unquote(source).lstrip("/") for source in request.values(COPY_SOURCE))
    return ",".join(source.partition("/")[0] for source in sources)[:_LONGEST]


def _headers(request: RawRequest) -> Iterator[str]:
    """Yield the headers that change something, sent or presigned."""
    for name in {name.lower() for name in (*request.headers, *request.params)} - _OF_ANY_CALL:
        if name == _ACL:
            yield f"{name}={','.join(request.values(name))}"
        elif name.startswith(_HEADER):
            yield name
