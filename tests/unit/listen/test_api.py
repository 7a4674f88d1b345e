"""Listen calls from the request to the last line, with a queue in memory."""

import asyncio
import math
import threading
import time
from collections.abc import Mapping, MutableMapping
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from bucketcast.errors import Busy
from bucketcast.listen import api
from bucketcast.listen.api import Listen
from bucketcast.listen.aws.credentials import CredentialsProvider
from bucketcast.listen.aws.listeners import Listeners, Table
from bucketcast.listen.listener import (
    KEEP_SECONDS,
    LEASE_SECONDS,
    Listener,
    ListenFilter,
    TooManyListenersError,
)
from bucketcast.users import Right
from bucketcast.web.authentication import AuthenticatedRequest
from bucketcast.web.errors import S3Error, as_s3_error
from tests.unit.listen.test_stream import MemoryQueue, wait_until
from tests.unit.web.requests import ANNA, authenticator, scope_of, signed

pytestmark = pytest.mark.anyio

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

TARGET = "/uploads?events=s3%3AObjectCreated%3A%2A&prefix=&suffix="
FILTER = ListenFilter(ANNA.id, "uploads", ("s3:ObjectCreated:*",))
PING = b'{"Records":null}\n'


class Client:
    """A client that listens, records messages, and can disconnect."""

    def __init__(self, grants: Mapping[str, tuple[Right, ...]] | None = None) -> None:
        self.user = replace(ANNA, grants=grants or {"uploads": ("notify",)})
        self.sent: list[MutableMapping[str, Any]] = []
        self.disconnected = asyncio.Event()
        self.aborted = False
        self.refused = False
        self.confirmations = math.inf
        self._received = False

    async def receive(self) -> MutableMapping[str, Any]:
        if not self._received:
            self._received = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.disconnected.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        self.sent.append(message)

    async def admitted(self, target: str = TARGET) -> AuthenticatedRequest:
        def abort() -> None:
            self.aborted = True

        request = await authenticator().authenticate(scope_of(signed("GET", target)), self.receive)

        async def confirm() -> None:
            self.confirmations -= 1
            if self.refused or self.confirmations < 0:
                raise S3Error("InvalidAccessKeyId")

        return replace(request, user=self.user, abort=abort, confirm=confirm)

    @property
    def received(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)


class Deployment:
    """Listeners in a table, and a queue in memory."""

    def __init__(self, table: Table, sqs: "SQSClient") -> None:
        prefix = sqs.create_queue(QueueName="any")["QueueUrl"].rpartition("/")[0]
        self.clock_offset = 0.0
        self.listeners = Listeners(
            "Bucketcast", table, sqs, lambda: prefix, clock=lambda: time.time() + self.clock_offset
        )
        self.table = table
        self.queue = MemoryQueue()
        self.attached: list[str] = []

    def listen(self, *, endless: bool = True) -> Listen:
        return Listen(
            self.listeners,
            lambda _: self.queue,
            lambda bucket, _: self.attached.append(bucket),
            endless=endless,
        )

    def held(self) -> list[bool]:
        return [bool(listener.holder) for listener in self.table.read().listeners]


@pytest.fixture
def deployment(dynamodb: "DynamoDBClient", sqs: "SQSClient", state_table: str) -> Deployment:
    return Deployment(Table(state_table, dynamodb), sqs)


async def answer(listen: Listen, client: Client, target: str = TARGET) -> None:
    admitted = await client.admitted(target)
    handler = listen.answers(admitted.call)
    assert handler
    await handler(admitted, client.send)


async def begin(listen: Listen, target: str = TARGET) -> tuple[Client, asyncio.Task[None]]:
    """Start a stream and wait for its first bytes."""
    client = Client()
    running = asyncio.create_task(answer(listen, client, target))
    await wait_until(lambda: client.sent)
    return client, running


async def test_a_stream_begins_at_once_and_ends_with_the_connection(deployment: Deployment) -> None:
    listen = deployment.listen()
    client, running = await begin(listen)
    assert client.sent[0]["status"] == 200
    assert (b"content-type", b"text/event-stream") in client.sent[0]["headers"]
    assert deployment.held() == [True]
    deployment.queue.put("a")
    await wait_until(lambda: b'"key":"a"' in client.received)
    client.disconnected.set()
    await running
    assert deployment.held() == [False]
    assert deployment.attached == ["uploads"]


async def test_a_closing_gateway_ends_all_streams(deployment: Deployment) -> None:
    listen = deployment.listen()
    client, running = await begin(listen)
    listen.close()
    await running
    assert client.sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}
    assert deployment.held() == [False]
    await answer(listen, Client())


@pytest.mark.parametrize("endless", [True, False])
async def test_a_removed_user_gets_no_more_events(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch, *, endless: bool
) -> None:
    monkeypatch.setattr("bucketcast.web.authentication.CONFIRM_SECONDS", 0.01)
    client = Client()
    client.confirmations = 2  # for the bucket, and the listener that is made
    with nullcontext() if endless else pytest.raises(S3Error):
        async with asyncio.timeout(10):
            await answer(deployment.listen(endless=endless), client)
    assert client.aborted
    assert deployment.held() == [False]


async def test_events_wait_for_a_user_whose_rights_changed(deployment: Deployment) -> None:
    """The stream ends, and what it was to write goes to the next call, if there is one."""
    listen = deployment.listen()
    client, running = await begin(listen)
    client.refused = True
    deployment.queue.put("a")
    await running
    assert b"Records" not in client.received
    second, running = await begin(listen)
    await wait_until(lambda: b'"key":"a"' in second.received)
    second.disconnected.set()
    await running


@pytest.mark.parametrize(
    ("grants", "count"),
    [({"up*": ("notify",)}, 1), ({"up*": ("read", "create")}, 0), ({"archive": ("notify",)}, 0)],
)
async def test_who_listens_to_all_buckets_hears_of_those_with_notify(
    deployment: Deployment,
    monkeypatch: pytest.MonkeyPatch,
    grants: dict[str, tuple[Right, ...]],
    count: int,
) -> None:
    monkeypatch.setattr(api, "LISTEN_SECONDS", 0.05)
    client = Client(grants)
    deployment.queue.put("a")
    everywhere = "/?events=s3%3AObjectCreated%3A%2A"
    await answer(deployment.listen(endless=False), client, everywhere)
    assert client.received.count(b'{"Records":[{') == count


async def test_a_slow_client_is_disconnected_and_gets_one_error(deployment: Deployment) -> None:
    client, listen = Client(), deployment.listen()
    deployment.queue.put("a", age=1e9)
    await answer(listen, client)
    assert client.aborted
    with pytest.raises(S3Error, match="EventsLost: events were not read for 10 minutes"):
        await answer(listen, Client())
    resumed, running = await begin(listen)
    resumed.disconnected.set()
    await running


async def test_a_client_gets_an_error_if_the_gateway_was_suspended(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "RENEWAL_SECONDS", 0.01)
    listen = deployment.listen()
    client, running = await begin(listen)
    deployment.clock_offset += LEASE_SECONDS + KEEP_SECONDS + 1
    await running
    assert client.aborted
    with pytest.raises(S3Error, match="EventsLost: the process that read the events was suspended"):
        await answer(listen, Client())


async def test_listeners_of_the_gateway_before_are_swept_if_nobody_listens_again(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ingest would read them for ever, and their queues would stay."""
    monkeypatch.setattr(api, "RENEWAL_SECONDS", 0.01)
    monkeypatch.setattr(api, "_SWEEP_SECONDS", 0.02)
    deployment.listeners.renew()
    deployment.listeners.acquire(FILTER)
    deployment.listen().keep()
    await asyncio.sleep(0.1)
    assert deployment.held() == [True]
    deployment.clock_offset += LEASE_SECONDS + KEEP_SECONDS + 1
    await wait_until(lambda: not deployment.held())


async def test_a_call_on_lambda_gets_one_response(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "LISTEN_SECONDS", 0.05)
    listen, first, second = deployment.listen(endless=False), Client(), Client()
    for client in (first, second):
        # On Lambda a client seems disconnected as soon as its request is read.
        client.disconnected.set()
    deployment.queue.put("a", "b")
    await answer(listen, first)
    assert first.received.count(b'{"Records":[{') == 2
    await answer(listen, second, f"{TARGET}&ping=10")
    assert second.received == PING
    assert deployment.held() == [False]
    assert deployment.queue.received == {}


async def test_too_many_listeners_are_refused_with_the_limit(deployment: Deployment) -> None:
    deployment.listeners.per_user = 1
    deployment.listeners.renew()
    deployment.listeners.acquire(FILTER)
    with pytest.raises(S3Error, match="TooManyListeners: the user has 1 listeners, and may"):
        await answer(deployment.listen(), Client())


async def test_who_begins_beside_too_many_others_is_to_try_again(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deployment.listeners, "sleep", lambda _: None)
    monkeypatch.setattr(deployment.listeners.table, "add", lambda *_: False)
    with pytest.raises(Busy) as busy:
        await answer(deployment.listen(), Client())
    refusal = as_s3_error(busy.value, "")
    assert (refusal.status, refusal.code) == (503, "ServiceUnavailable")
    assert refusal.message == "too many listeners begin at the same moment: try again"


async def test_a_call_attaches_the_bucket_that_it_names(deployment: Deployment) -> None:
    everywhere = "/?events=s3%3AObjectCreated%3A%2A"
    listen = deployment.listen()
    for target in (TARGET, "/?events=s3%3ABucketCreated", everywhere, everywhere):
        client = Client()
        client.disconnected.set()
        await answer(listen, client, target)
    assert deployment.attached == ["uploads"]


async def test_a_user_who_connects_slowly_holds_up_no_other(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    end, acquire = threading.Event(), deployment.listeners.acquire

    def slowly(requested: ListenFilter, *rest: Any, **more: Any) -> Listener:
        if requested.user != ANNA.id:
            return acquire(requested, *rest, **more)
        end.wait(20)
        raise TooManyListenersError("after some time")

    monkeypatch.setattr(deployment.listeners, "acquire", slowly)
    listen, slow, other = deployment.listen(), [Client() for _ in range(40)], Client()
    other.user = replace(other.user, id="b1")
    for client in (*slow, other):
        client.disconnected.set()
    running = [asyncio.create_task(answer(listen, client)) for client in slow]
    await asyncio.sleep(0.1)
    try:
        async with asyncio.timeout(5):
            await answer(listen, other)
            credentials = CredentialsProvider()
            monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
            monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
            assert (await credentials()).access_key == "a"
    finally:
        end.set()
        await asyncio.gather(*running, return_exceptions=True)
