"""A target in trouble for hours or a day: whom it delays, and that all arrives once."""

from functools import partial
from itertools import count
from random import Random
from zlib import crc32

from botocore.exceptions import ConnectTimeoutError

from tests.unit.simulation.delivering import Delivering, Phase
from tests.unit.simulation.sqs import DAY, HOUR


def test_events_that_one_target_does_not_take_delay_none_of_its_others() -> None:
    """In flight they filled the queue within hours: 12 here stand for SQS's 120,000."""
    one = Delivering([Phase(30, "moody")], workers=4, grain=0.1, in_flight_limit=12)
    keys = [f"{second}" for second in range(0, 2 * HOUR, 100)]
    one.simulation.run(days=2.1 / 24, actions={int(key): partial(one.put, key) for key in keys})
    well = [name for name in one.sent if not crc32(name.encode()) & 1]
    assert len(one.queue.messages) > 12
    assert one.delays(well).p99 <= 5


def test_merged_events_that_sqs_took_are_there_once() -> None:
    """Where one part of it was refused, the messages of all its parts stayed."""
    one = Delivering([Phase(1 / DAY, "busy"), Phase(30, "up")], workers=1, grain=1)
    random = Random(0)  # noqa: S311 - what does not compress
    for key in "abcdefghi":
        one.put(key, record=b'"%s"' % random.randbytes(200_000).hex().encode())
    sent = count()
    lost = ConnectTimeoutError(endpoint_url="https://sqs")
    one.simulation.sqs.trouble = lambda operation: (
        lost if operation == "SendMessageBatch" and next(sent) == 1 else None
    )
    one.simulation.run(days=1)
    one.check()
    assert next(sent) > 2, "more than one call, of which the second failed"
    assert set(one.target.taken.values()) == {1}
