"""Creating and removing a bucket through the gateway sends an event, if S3 succeeds."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from bucketcast import sources
from bucketcast.listen.bucket_events import BucketEvents
from bucketcast.web.authentication import AuthenticatedRequest
from tests.unit.web.requests import ACCESS, Response, Wire, authenticator, scope_of, signed


def events_of(
    method: str,
    target: str,
    status: int = 200,
    *,
    attach: Callable[[str], object] = len,
    forget: Callable[[str], object] = len,
) -> list[str]:
    """Return the notifications of a call that S3 answers with this status."""
    notifications: list[str] = []

    async def forward(_: AuthenticatedRequest, send: Any) -> None:
        headers = [(b"x-amz-request-id", b"R1")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def test() -> None:
        response = Response()

        def notify(bucket: str, name: str, body: str) -> None:
            assert bucket == "fresh"
            assert f'"eventName":"{name}"' in body
            notifications.append(body)

        scope = {**scope_of(signed(method, target)), "client": ("192.0.2.7", 5)}
        admitted = await authenticator().authenticate(scope, Wire(b""))
        events = BucketEvents(forward, notify, "eu-central-1", attach=attach, forget=forget)
        await events(admitted, response)
        assert [message["type"] for message in response.messages] == [
            "http.response.start",
            "http.response.body",
        ]
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others)

    asyncio.run(test())
    return notifications


@pytest.mark.parametrize(
    ("method", "target", "status", "name"),
    [
        ("PUT", "/fresh", 200, "s3:BucketCreated:*"),
        ("PUT", "/fresh/", 200, "s3:BucketCreated:*"),
        ("DELETE", "/fresh?x-id=DeleteBucket", 204, "s3:BucketRemoved:*"),
    ],
)
def test_a_created_or_removed_bucket_sends_an_event_that_ingest_reads(
    method: str, target: str, status: int, name: str
) -> None:
    (body,) = events_of(method, target, status)
    (event,) = sources.events(body)
    assert (event.name, event.bucket, event.key) == (name, "fresh", "")
    assert (event.principal, event.source_ip, event.request_id) == (ACCESS, "192.0.2.7", "R1")
    record = json.loads(body)["Records"][0]
    assert record["s3"]["object"].keys() == {"key", "sequencer"}


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [
        ("PUT", "/fresh", 409),
        ("DELETE", "/fresh", 404),
        ("PUT", "/fresh?versioning", 200),
        ("DELETE", "/fresh?tagging", 204),
        ("PUT", "/fresh/key", 200),
        ("DELETE", "/fresh/key", 204),
        ("GET", "/fresh", 200),
        ("HEAD", "/fresh", 200),
    ],
)
def test_other_calls_notify_no_listener(method: str, target: str, status: int) -> None:
    assert events_of(method, target, status) == []


@pytest.mark.parametrize(("method", "status", "hook"), [("PUT", 200, 0), ("DELETE", 204, 1)])
def test_a_bucket_is_attached_or_forgotten_if_s3_succeeds(
    method: str, status: int, hook: int
) -> None:
    given: tuple[list[str], list[str]] = ([], [])
    hooks: Any = {"attach": given[0].append, "forget": given[1].append}
    for target, answer in (("/fresh", 409), ("/fresh/key", status), ("/fresh?tagging", status)):
        events_of(method, target, answer, **hooks)
    assert given == ([], [])
    events_of(method, "/fresh", status, **hooks)
    assert (given[hook], given[1 - hook]) == (["fresh"], [])


def test_a_bucket_that_is_gone_already_is_forgotten() -> None:
    forgotten: list[str] = []
    assert events_of("DELETE", "/fresh", 404, forget=forgotten.append) == []
    assert forgotten == ["fresh"]


@pytest.mark.parametrize(("method", "status"), [("PUT", 200), ("DELETE", 204)])
def test_a_call_succeeds_even_if_what_follows_does_not(method: str, status: int) -> None:
    def refuse(_: str) -> None:
        raise OSError("no answer")

    assert len(events_of(method, "/fresh", status, attach=refuse, forget=refuse)) == 1
