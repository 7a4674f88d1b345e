"""Topics that are not persistent share a queue: which of its messages wait, and which are lost."""

from collections import Counter
from functools import partial
from typing import Any

from bucketcast.delivery.policy import History
from bucketcast.delivery.queue import Outgoing, Queue
from bucketcast.destination import TopicArn
from bucketcast.limits import ONCE_DAYS
from tests.unit.simulation.sqs import DAY, MINUTE
from tests.unit.simulation.topics import Topics

WELL = TopicArn("r", "", "well")


def test_what_was_not_tried_within_a_day_is_counted() -> None:
    """SQS dropped it in silence when the day was over."""
    one = Topics()
    one.send(WELL, "a", "b")
    one.simulation.run(days=ONCE_DAYS + 0.5)
    one.run(MINUTE, {1: partial(one.send, WELL, "c")})
    assert set(one.got) == {"c"}
    assert one.counted[WELL.arn] == Counter(sent=1, lost=2)


def test_messages_of_a_newer_release_wait_for_it() -> None:
    """As while an update goes on: it was dropped, and not counted."""
    one = Topics()
    client: Any = one.simulation.sqs
    told = History(topic=WELL.arn)
    Queue(one.queue.name, client).send([Outgoing('{"v":2,"all":"new"}', history=told)])
    one.run(DAY, {})
    assert [kept.body for kept in one.queue.messages] == ['{"v":2,"all":"new"}']
    assert not one.counted[WELL.arn].total()
