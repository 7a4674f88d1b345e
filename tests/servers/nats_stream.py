"""The stream that records the messages of all subjects below `ev.`, on any of the servers."""

import uuid
from typing import Any

from nats.js.api import AckPolicy, ConsumerConfig, StreamConfig
from nats.js.client import JetStreamContext
from nats.js.errors import NotFoundError

from tests.servers import Arrival

SUBJECTS = ["ev.>"]
LAST = "ev.last"
"""The subject of a message that arrives after all before it."""
EMPTY = StreamConfig(name="empty", subjects=["empty"])
"""A stream that is never deleted. Some time after the last stream is deleted, nats-server removes
an account's folder, even if a stream is being created: "error creating store for stream"."""


async def await_stored(streams: JetStreamContext) -> None:
    """Wait until the stream has stored all messages that were published before."""
    await streams.publish(LAST, timeout=60)


async def find_or_create(streams: JetStreamContext) -> str:
    """Return the stream's name."""
    try:
        return await streams.find_stream_name_by_subject(LAST)
    except NotFoundError:
        return await replace_all(streams)


async def replace_all(streams: JetStreamContext, **limits: Any) -> str:
    """Replace all streams by a new one; return its name, which is new, as an old one stays used."""
    await streams.add_stream(EMPTY)
    for stream in await streams.streams_info():
        if stream.config.name != EMPTY.name:
            await streams.delete_stream(stream.config.name or "")
    name = f"events-{uuid.uuid4().hex}"
    await streams.add_stream(StreamConfig(name=name, subjects=SUBJECTS, **limits))
    return name


async def arrivals(streams: JetStreamContext, subject: str) -> list[Arrival]:
    """Return all messages of a subject in order of arrival."""
    await await_stored(streams)
    name = await find_or_create(streams)
    state = (await streams.stream_info(name, subjects_filter=subject)).state
    count = (state.subjects or {}).get(subject, 0)
    # After 5 seconds without a request the server would forget the reader of a busy machine.
    config = ConsumerConfig(ack_policy=AckPolicy.NONE, inactive_threshold=300)
    reader = await streams.pull_subscribe(subject, stream=name, config=config)
    arrived: list[Arrival] = []
    while len(arrived) < count:
        messages = await reader.fetch(min(500, count - len(arrived)), timeout=60)
        arrived += [
            Arrival(body=message.data, headers=message.headers or {}) for message in messages
        ]
    return arrived
