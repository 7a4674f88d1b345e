"""A chunk fits into one call, and a limit keeps to the rate; these tests need no server."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from bucketcast.delivery.envelope import MAX_BYTES
from bucketcast.limits import SQS_CALL_MESSAGES
from glue_jobs.outbox.chunks import Chunk, Message, split

MESSAGES = st.lists(
    st.builds(
        Message,
        st.sampled_from(["x", "é" * 100_000, "y" * 500_000, "z" * MAX_BYTES]),
        st.integers(1, 200),
        st.just(""),
        st.sampled_from(["", "arn:minio:sqs::a:webhook"]),
    ),
    max_size=40,
)


def bytes_of(chunk: Chunk) -> int:
    return sum(len(body.encode()) for body in chunk.bodies)


@given(MESSAGES)
def test_chunks_have_all_messages_in_their_order(messages: list[Message]) -> None:
    contents = [
        Message(body, count, token, chunk.to)
        for chunk in split(7, messages)
        for body, count, token in zip(chunk.bodies, chunk.counts, chunk.tokens, strict=True)
    ]
    assert contents == messages


@given(MESSAGES)
def test_a_chunk_is_one_call_for_one_destination(messages: list[Message]) -> None:
    chunks = list(split(7, messages))
    assert [(chunk.part, chunk.chunk) for chunk in chunks] == [(7, n) for n in range(len(chunks))]
    for chunk in chunks:
        assert 1 <= len(chunk.bodies) <= SQS_CALL_MESSAGES
        assert bytes_of(chunk) <= MAX_BYTES
        assert chunk.events == sum(chunk.counts)


@given(MESSAGES)
def test_no_chunk_ends_while_the_next_message_would_fit(messages: list[Message]) -> None:
    chunks = list(split(7, messages))
    for chunk, following in pairwise(chunks):
        full = len(chunk.bodies) == SQS_CALL_MESSAGES
        heavy = bytes_of(chunk) + len(following.bodies[0].encode()) > MAX_BYTES
        assert full or heavy or chunk.to != following.to


def test_a_message_too_large_for_a_call_is_alone() -> None:
    bodies = ["a", "b" * (MAX_BYTES + 1), "c"]
    chunks = split(0, [Message(body, 1) for body in bodies])
    assert [chunk.bodies for chunk in chunks] == [[body] for body in bodies]
