"""The stream that records what is published below `ev.`, on any of the servers."""

import uuid
from typing import Any

from nats.js.api import AckPolicy, ConsumerConfig, StreamConfig
from nats.js.client import JetStreamContext
from nats.js.errors import NotFoundError

from tests.servers import Arrival

SUBJECTS = ["ev.>"]
BEHIND = "ev.behind"
"""Where a message is put to see that all before it is in the stream."""
EMPTY = StreamConfig(name="empty", subjects=["empty"])
"""A stream that stays. Some time after its last stream is deleted, nats-server removes an account's
folder, if need be from under a stream that is being made: "error creating store for stream"."""


async def settle(streams: JetStreamContext) -> None:
    """Wait until the stream has all that was published before."""
    await streams.publish(BEHIND, timeout=10)


async def find_or_make(streams: JetStreamContext) -> str:
    """Its name."""
    try:
        return await streams.find_stream_name_by_subject(BEHIND)
    except NotFoundError:
        return await make(streams)


async def make(streams: JetStreamContext, **limits: Any) -> str:
    """Replace all streams by a new one, whose name is new: the last may not be free yet."""
    await streams.add_stream(EMPTY)
    for each in await streams.streams_info():
        if each.config.name != EMPTY.name:
            await streams.delete_stream(each.config.name or "")
    name = f"events-{uuid.uuid4().hex}"
    await streams.add_stream(StreamConfig(name=name, subjects=SUBJECTS, **limits))
    return name


async def arrivals(streams: JetStreamContext, subject: str) -> list[Arrival]:
    """All messages of a subject, as they came."""
    await settle(streams)
    name = await find_or_make(streams)
    state = (await streams.stream_info(name, subjects_filter=subject)).state
    count = (state.subjects or {}).get(subject, 0)
    wanted = ConsumerConfig(ack_policy=AckPolicy.NONE)
    reader = await streams.pull_subscribe(subject, stream=name, config=wanted)
    read: list[Arrival] = []
    while len(read) < count:
        found = await reader.fetch(min(500, count - len(read)), timeout=10)
        read += [Arrival(body=each.data, headers=each.headers or {}) for each in found]
    return read
