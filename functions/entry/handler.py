"""The HTTP entry: MinIO and Ceph RGW post notifications, which go to the ingress queue.

It is behind a Lambda function URL. The token comes as MinIO sends its `auth_token` (`Bearer TOKEN`,
or the whole header if the token has two words), or as the password in RGW's endpoint
(`https://any:TOKEN@host/`). Each source has its own token for one dialect and some buckets; a body
with anything else is refused as a whole. The answer is 200 only once SQS has the message: after a
5xx the sender retries.
"""

import base64
import binascii
import hmac
import json
import os
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from http import HTTPStatus
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from bucketcast import sources, telemetry
from bucketcast.aws import secrets
from bucketcast.delivery.envelope import MAX_BYTES
from bucketcast.errors import BadEvent, NotAuthorized
from bucketcast.event import AGENT, Event
from bucketcast.queues import Outgoing, Queue, escaped
from bucketcast.settings.environment import EntrySettings, EntrySource

Handler = Callable[[Mapping[str, Any], Any], dict[str, Any]]
# In all below the function's timeout, so that a sender is answered in words.
CLIENT = Config(connect_timeout=2, read_timeout=3, retries={"total_max_attempts": 2})


class Refused(Exception):
    """The response to a request that is not accepted."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def build(environ: Mapping[str, str]) -> Handler:
    """Return the handler for these settings; tokens are cached for five minutes."""
    settings = EntrySettings.from_environ(environ)
    queue = Queue(settings.queue_url, boto3.client("sqs", config=CLIENT))

    def handler(event: Mapping[str, Any], _context: Any) -> dict[str, Any]:
        try:
            _check_method(event)
            source = _source(event["headers"].get("authorization", ""), settings.sources)
            body = _body(event)
            events = _events(body)
            _check_events(events, source)
            if events:
                _forward(queue, body)
        except Refused as refused:
            telemetry.logger.warning("refused", status=refused.status, reason=str(refused))
            return _answer(refused.status, error=str(refused))
        return _answer(HTTPStatus.OK, status="received")

    return handler


def _check_method(event: Mapping[str, Any]) -> None:
    method = event["requestContext"]["http"]["method"]
    if method != "POST":
        raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, f"found {method}; POST a notification")


def _source(header: str, senders: Sequence[EntrySource]) -> EntrySource:
    """Return the source that the token belongs to, in constant time."""
    tokens, unread = _tokens(senders)
    scheme, _, given = header.partition(" ")
    if scheme.lower() == "basic":
        given = _password(given)
    elif scheme.lower() != "bearer":
        given = ""
    sent = [text.strip().encode() for text in (header, given)]
    same = [
        source
        for source, token in tokens
        # A list, so that both are compared whatever the first says.
        if any([hmac.compare_digest(text, token) for text in sent])  # noqa: C419
    ]
    if same:
        return same[0]
    if unread:
        raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, unread[0])
    raise Refused(
        HTTPStatus.UNAUTHORIZED,
        "the token is missing or wrong: `Authorization: Bearer TOKEN`, or the password in "
        "https://any:TOKEN@host/",
    )


def _tokens(senders: Sequence[EntrySource]) -> tuple[list[tuple[EntrySource, bytes]], list[str]]:
    """Return the tokens, and why others cannot be read: one must not block the rest."""
    tokens, unread = [], []
    for source in senders:
        try:
            token = secrets.resolve({"token": source.token})["token"].strip()
        except NotAuthorized as error:
            unread.append(str(error))
        else:
            if token:
                tokens.append((source, token.encode()))
    return tokens, unread


def _password(given: str) -> str:
    try:
        return base64.b64decode(given).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _body(event: Mapping[str, Any]) -> str:
    text: str = event.get("body") or ""
    if event.get("isBase64Encoded"):
        try:
            text = base64.b64decode(text).decode()
        except UnicodeDecodeError as error:
            raise Refused(HTTPStatus.BAD_REQUEST, f"the body is not UTF-8: {error}") from None
    size = len(text.encode())
    if size > MAX_BYTES:
        raise Refused(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"found {size:,} bytes; {MAX_BYTES:,} are taken"
        )
    return text


def _events(body: str) -> list[Event]:
    """Return the events in a body; one without any, as S3's test, is accepted and dropped."""
    try:
        return sources.events(body)
    except BadEvent as error:
        raise Refused(HTTPStatus.BAD_REQUEST, str(error)) from None


def _check_events(events: Sequence[Event], source: EntrySource) -> None:
    """Refuse events of a bucket or dialect that the token is not for."""
    for event in events:
        found = event.dialect or "s3"
        if found != source.dialect:
            raise Refused(
                HTTPStatus.FORBIDDEN,
                f"the token of {source.name} is for {source.dialect}; found {found}",
            )
        if not any(fnmatchcase(event.bucket, each) for each in source.buckets):
            named = ", ".join(source.buckets)
            raise Refused(
                HTTPStatus.FORBIDDEN,
                f"the token of {source.name} is for the buckets {named}; found {event.bucket!r}",
            )
        if event.user_agent.startswith(AGENT):
            raise Refused(
                HTTPStatus.FORBIDDEN, f"found a userAgent that begins with {AGENT!r}, which is ours"
            )


def _forward(queue: Queue, body: str) -> None:
    try:
        failed = queue.send([Outgoing(escaped(body))])
    except (BotoCoreError, ClientError) as error:
        failed = {0: str(error)}
    if failed:
        telemetry.logger.error("SQS did not take it", reason=failed[0])
        raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, "the queue did not take it; send it again")


def _answer(status: HTTPStatus, /, **document: str) -> dict[str, Any]:
    headers = {"content-type": "application/json"}
    if status == HTTPStatus.UNAUTHORIZED:
        headers["www-authenticate"] = 'Basic realm="bucketcast"'
    return {"statusCode": status.value, "headers": headers, "body": json.dumps(document)}


handler = telemetry.logger.inject_lambda_context(build(os.environ))
