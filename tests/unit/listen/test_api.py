"""Listen calls from the request to the last line, with a queue in memory."""

import asyncio
import time
from collections.abc import MutableMapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from bucketcast.listen import api
from bucketcast.listen.api import Listen
from bucketcast.listen.aws.listeners import Listeners, Table
from bucketcast.listen.listener import KEPT_SECONDS, LEASE_SECONDS, ListenFilter
from bucketcast.users import Account
from bucketcast.web.authentication import AuthenticatedRequest
from bucketcast.web.errors import S3Error
from tests.unit.listen.test_stream import Shelf, until
from tests.unit.web.requests import ANNA, authenticator, scope_of, signed

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

TARGET = "/uploads?events=s3%3AObjectCreated%3A%2A&prefix=&suffix="
FILTER = ListenFilter("anna", "uploads", ("s3:ObjectCreated:*",))
PING = b'{"Records":null}\n'


class Client:
    """One that listens: what it was sent, and a way to go away."""

    def __init__(self) -> None:
        self.sent: list[MutableMapping[str, Any]] = []
        self.gone = asyncio.Event()
        self.aborted = False
        self._received = False

    async def receive(self) -> MutableMapping[str, Any]:
        if not self._received:
            self._received = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        self.sent.append(message)

    async def admitted(self, target: str = TARGET) -> AuthenticatedRequest:
        def abort() -> None:
            self.aborted = True

        found = await authenticator().authenticate(scope_of(signed("GET", target)), self.receive)
        return replace(found, abort=abort)

    @property
    def text(self) -> bytes:
        return b"".join(each.get("body", b"") for each in self.sent)


class Deployment:
    """Listeners in a table, and a queue in memory."""

    def __init__(self, table: Table, sqs: "SQSClient") -> None:
        prefix = sqs.create_queue(QueueName="any")["QueueUrl"].rpartition("/")[0]
        self.late = 0.0
        self.listeners = Listeners(
            "Bucketcast", table, sqs, lambda: prefix, clock=lambda: time.time() + self.late
        )
        self.table = table
        self.shelf = Shelf()
        self.account: Account | None = Account(ANNA, "")
        self.prepared: list[str] = []

    def listen(self, *, endless: bool = True) -> Listen:
        async def find(_: str) -> Account | None:
            return self.account

        prepare = self.prepared.append
        return Listen(
            self.listeners,
            lambda _: self.shelf,
            prepare,
            find,
            endless=endless,
        )

    def holders(self) -> list[bool]:
        return [bool(one.holder) for one in self.table.seen().listeners]


@pytest.fixture
def deployment(dynamodb: "DynamoDBClient", sqs: "SQSClient", state_table: str) -> Deployment:
    return Deployment(Table(state_table, dynamodb), sqs)


async def answer(listen: Listen, client: Client, target: str = TARGET) -> None:
    admitted = await client.admitted(target)
    answers = listen.answers(admitted.call)
    assert answers
    await answers(admitted, client.send)


async def begin(listen: Listen) -> tuple[Client, asyncio.Task[None]]:
    """Start a stream and wait for its first bytes."""
    client = Client()
    running = asyncio.create_task(answer(listen, client))
    await until(lambda: client.sent)
    return client, running


def test_a_stream_begins_at_once_and_ends_when_the_client_goes(deployment: Deployment) -> None:
    async def test() -> None:
        listen = deployment.listen()
        client, running = await begin(listen)
        assert client.sent[0]["status"] == 200
        assert (b"content-type", b"text/event-stream") in client.sent[0]["headers"]
        assert deployment.holders() == [True]
        deployment.shelf.put("a")
        await until(lambda: b'"key":"a"' in client.text)
        client.gone.set()
        await running
        assert deployment.holders() == [False]
        assert deployment.prepared == ["uploads"]

    asyncio.run(test())


def test_the_gateway_ends_all_streams_when_it_ends(deployment: Deployment) -> None:
    async def test() -> None:
        listen = deployment.listen()
        client, running = await begin(listen)
        listen.close()
        await running
        assert client.sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}
        assert deployment.holders() == [False]
        await answer(listen, Client())

    asyncio.run(test())


def test_a_removed_user_gets_no_more_events(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "RENEWED_SECONDS", 0.01)

    async def test() -> None:
        listen = deployment.listen()
        _, running = await begin(listen)
        deployment.account = None
        await running
        assert deployment.holders() == [False]

    asyncio.run(test())


def test_a_client_that_reads_too_slowly_is_cut_off_and_gets_one_note(
    deployment: Deployment,
) -> None:
    async def test() -> None:
        client, listen = Client(), deployment.listen()
        deployment.shelf.put("a", age=1e9)
        await answer(listen, client)
        assert client.aborted
        with pytest.raises(S3Error, match="EventsLost: events were not read for 10 minutes"):
            await answer(listen, Client())
        again, running = await begin(listen)
        again.gone.set()
        await running

    asyncio.run(test())


def test_a_listener_kept_too_briefly_gets_a_note_of_lost_events(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "RENEWED_SECONDS", 0.01)

    async def test() -> None:
        listen = deployment.listen()
        client, running = await begin(listen)
        deployment.late += LEASE_SECONDS + KEPT_SECONDS + 1
        await running
        assert client.aborted
        with pytest.raises(S3Error, match="EventsLost: whoever read the events stood still"):
            await answer(listen, Client())

    asyncio.run(test())


def test_on_lambda_it_is_one_answer(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "POLL_SECONDS", 0.05)

    async def test() -> None:
        listen, first, second = deployment.listen(endless=False), Client(), Client()
        for client in (first, second):
            client.gone.set()  # a function's client looks gone as soon as its request is read
        deployment.shelf.put("a", "b")
        await answer(listen, first)
        assert first.text.count(b'{"Records":[{') == 2
        await answer(listen, second, f"{TARGET}&ping=10")
        assert second.text == PING
        assert deployment.holders() == [False]
        assert deployment.shelf.taken == {}

    asyncio.run(test())


def test_too_many_are_refused_in_words(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bucketcast.listen.listener.A_USER", 1)
    deployment.listeners.renew()
    deployment.listeners.take(FILTER)

    async def test() -> None:
        with pytest.raises(S3Error, match="TooManyListeners: anna has 1 listeners; a user may"):
            await answer(deployment.listen(), Client())

    asyncio.run(test())
