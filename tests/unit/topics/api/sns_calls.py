"""Topic calls of boto3's own client, answered by the application inside the process."""

import io
from collections.abc import Callable
from functools import partial
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSRequest, AWSResponse
from botocore.config import Config
from botocore.exceptions import ClientError
from msgspec.structs import replace

from bucketcast.gateway.app import build
from bucketcast.topics.api.sns import Sns
from bucketcast.topics.api.user_topics import UserTopics
from bucketcast.users import Account as UserAccount
from bucketcast.users import User
from bucketcast.web.authentication import AUDITED
from bucketcast.web.secure import SecureCalls, secure
from tests.unit.dynamic_targets.account import Account
from tests.unit.moto_aws import DYNAMIC
from tests.unit.web.requests import REGION, answer, authenticator, ready, scope_of

URL = "http://gateway.example:9100"
USERS = {
    "ANN": User("1", "ann", "acme", ("ANN",)),
    "ALF": User("2", "alf", "acme", ("ALF",)),
    "BOB": User("3", "bob", "other", ("BOB",)),
    "NOONE": User("4", "noone", "", ("NOONE",)),
    "ROOT": User("5", "root", "", ("ROOT",), admin=True),
}
KINDS = ("webhook", "amqp", "kafka")
HERE = replace(DYNAMIC, functions={kind: f"{DYNAMIC.prefix}{kind}" for kind in KINDS})


class Raw(io.BytesIO):
    """A body as botocore reads it."""

    def stream(self, **_: Any) -> Any:
        yield self.read()


class Server:
    """The application with a few users, whose secret keys are their access keys twice."""

    def __init__(self, account: Account, secure_calls: SecureCalls = "never", **setup: Any) -> None:
        async def find(access_key: str) -> UserAccount | None:
            user = USERS.get(access_key)
            return UserAccount(user, access_key * 2) if user else None

        self.account = account
        self.setup = replace(HERE, **setup)
        self.table = account.table
        topics = UserTopics(self.table, partial(account.topics, self.setup), REGION)
        sns = Sns(authenticator(find), secure(secure_calls), _nothing, topics)
        self.app = build(sns, is_ready=ready)

    def call(
        self, method: str, target: str, headers: Any, body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        """Let the application answer a request."""
        self.audited: dict[str, Any] = {}
        request = scope_of(AWSRequest(method, target, headers))
        scope = {**request, AUDITED: self.audited, "scheme": "http"}
        response = answer(self.app, scope, body)
        return response.status, response.headers, response.body

    def client(self, user: str, **headers: str) -> Any:
        """boto3's client as this user; `headers` are those that a proxy adds."""
        client: Any = boto3.client(
            "sns",
            endpoint_url=URL,
            region_name=REGION,
            aws_access_key_id=user,
            aws_secret_access_key=user * 2,
            config=Config(retries={"max_attempts": 0}),
        )

        def answer(request: Any, **_: Any) -> AWSResponse:
            sent = {name: _text(value) for name, value in request.headers.items()}
            sent |= {name.replace("_", "-"): value for name, value in headers.items()}
            status, response_headers, body = self.call(
                request.method, request.url, sent, _text(request.body or "").encode()
            )
            headers_: Any = response_headers
            return AWSResponse(request.url, status, headers_, Raw(body))

        client.meta.events.register("before-send.sns", answer)
        return client


def refused(call: Callable[[], Any]) -> tuple[str, int]:
    """Return code and status of the error that a call has; none shows a password."""
    with pytest.raises(ClientError) as caught:
        call()
    answer: Any = caught.value.response
    assert "hunter2" not in str(answer)
    return answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"]


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


async def _nothing(scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG001 - ASGI's form
    await send({"type": "http.response.start", "status": 299, "headers": []})
    await send({"type": "http.response.body", "body": b"S3"})
