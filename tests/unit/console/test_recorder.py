"""One listener for all views of events, begun by the first and ended when nobody looks."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import get_ident
from types import SimpleNamespace
from typing import Any, Final

import pytest

from bucketcast.console import recorder as module
from bucketcast.console.context import Context
from bucketcast.console.recent import Wanted
from bucketcast.console.recorder import Recorder
from bucketcast.delivery.tracing import Outcomes, dispatched, received
from bucketcast.listen.listener import EventsLostError
from bucketcast.terminal.output import Output
from tests.unit.moto_aws import WEBHOOK, MotoAws, log, refusal
from tests.unit.samples import event

pytestmark = pytest.mark.anyio

CAT: Final = event("cat", request_id="1")


@dataclass
class FakeSession:
    """A session that gets one event, and then what a test decides."""

    number = 0
    then: Callable[[], None] = lambda: None

    def __init__(self, *_: Any, **parts: Any) -> None:
        self._parts = parts

    async def __call__(self) -> None:
        FakeSession.number += 1
        self._parts["began"]()
        assert self._parts["line"](CAT) == b""
        FakeSession.then()
        await asyncio.Event().wait()


@pytest.fixture
def recorder(aws: MotoAws, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    monkeypatch.setattr(module, "Session", FakeSession)
    monkeypatch.setattr(module, "_LOG_SECONDS", 0.01)
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(FakeSession, "number", 0)
    return Recorder(Context(Output(aws=lambda **_: aws)))


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - threads change what it reads
            await asyncio.sleep(0.01)


async def test_views_share_one_listener_and_logs_say_what_became_of_events(
    recorder: Recorder,
) -> None:
    log("Bucketcast-ingest", received([(CAT, [])], 1), ago=1)
    log("Bucketcast-webhook-primary", dispatched(WEBHOOK, Outcomes({1: [CAT]}), 2), ago=1)
    for _ in range(3):
        recorder.look()
    await until(lambda: any(row.outcomes for row in recorder.recent.newest(Wanted(), 1)))
    recorder.look()
    (row,) = recorder.recent.newest(Wanted(), 9)
    assert row.entry.event == CAT
    assert [step.kind for step in row.outcomes.values()] == ["delivered"]
    assert FakeSession.number == 1


async def test_it_ends_when_nobody_looks_and_begins_again(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_IDLE_SECONDS", 0.05)
    for number in (1, 2):
        recorder.look()
        task = recorder._task
        assert task
        assert not task.done()
        # On a busy machine a listener begins later than it is idle here: somebody reads meanwhile.
        await until(lambda number=number: recorder.recent and FakeSession.number == number)  # type: ignore[misc]
        await task


async def test_lost_events_are_noted(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose() -> None:
        monkeypatch.setattr(FakeSession, "then", lambda: None)
        raise EventsLostError("some are lost")

    monkeypatch.setattr(FakeSession, "then", lose)
    recorder.look()
    await until(lambda: FakeSession.number == 2)
    assert recorder.notes == {"lost": "some are lost"}


async def test_no_view_waits_while_it_reads_the_deployment(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AWS may take long to answer: only a thread of its own may wait for it."""
    readers: set[int] = set()
    deployed = recorder._context.deployed

    def read(_: Context) -> Any:
        readers.add(get_ident())
        return deployed

    monkeypatch.setattr(Context, "deployed", property(read))
    recorder.look()
    await until(lambda: len(readers) > 1)
    assert get_ident() not in readers


async def test_logs_that_cannot_be_read_are_noted(
    recorder: Recorder, aws: MotoAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: Any) -> Iterator[Any]:
        raise refusal("AccessDeniedException", "FilterLogEvents")
        yield

    with monkeypatch.context() as patch:
        patch.setattr(aws.logs, "get_paginator", lambda _: SimpleNamespace(paginate=refuse))
        recorder.look()
        await until(lambda: "AccessDenied" in recorder.notes.get("logs", ""))
        patch.undo()
        await until(lambda: "logs" not in recorder.notes)
