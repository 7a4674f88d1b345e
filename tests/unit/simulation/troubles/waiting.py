"""The rows of "a target" with ten million waiting events, in messages of a thousand."""

import json
from base64 import b64encode
from functools import partial
from itertools import cycle, islice
from math import inf
from random import Random
from typing import Any

import msgspec

from bucketcast.delivery.breaker import Outage
from bucketcast.delivery.envelope import Delivery, pack
from bucketcast.delivery.policy import History
from bucketcast.delivery.queue import Outgoing, Queue
from bucketcast.limits import LONGEST_DELAY_SECONDS
from tests.unit.samples import event, record
from tests.unit.simulation.delivering import AHEAD
from tests.unit.simulation.ingesting import Actions
from tests.unit.simulation.sqs import DAY, HOUR, MINUTE
from tests.unit.simulation.troubles.cell import Bounds, Cell, Seen
from tests.unit.simulation.troubles.receivers import Answer, Webhook
from tests.unit.simulation.troubles.scenes import WORKERS, Troubled

EVENTS = 1_000
MESSAGES_A_SECOND = 10_000 / LONGEST_DELAY_SECONDS
"""Ten million events, of which each message is looked at as seldom as SQS allows."""
DIFFERENT = 20
"""Messages with events of their own; the others have the same ones, for the time that it takes."""
END = 4 * MINUTE
"""Until then nothing is delivered, as in any other minutes of a day."""
MESSAGES = round(END * MESSAGES_A_SECOND)
STEP, STEPS = 10, 12


def of_waiting(*, paused: bool) -> Seen:
    """Play minutes of the second day on which nothing is delivered, and the first ones after it.

    It is back when all calls that are allowed at once are busy with a slow target.
    """
    one = Troubled(Webhook, lambda _, now: Answer.DOWN if now < END and not paused else Answer.SLOW)
    well = Troubled(Webhook, lambda *_: Answer.TAKEN, beside=one.simulation, name="well")
    now = round(one.simulation.clock.now * 1_000)
    yesterday = now - DAY * 1_000
    why = Outage(0, 0, paused=yesterday) if paused else Outage(yesterday, now, error="NotConnected")
    one.set_outage(why)
    _put(one, yesterday)
    used: list[tuple[int, float]] = []
    busy: list[int] = []
    todo: Actions = {at: partial(well.put, f"{at}") for at in range(0, END, MINUTE)}
    for at in (0, END):
        todo[at + 0.01] = lambda: used.append((one.function.calls, one.dollars()))
    if paused:
        todo[END + 0.02] = one.set_outage
    for number in range(1, STEPS + 1):
        todo[END + number * STEP + 0.1] = lambda: busy.append(one.function.busy)
    one.simulation.run(days=(END + STEPS * STEP + 1) / DAY, actions=todo)
    (calls_before, before), (calls_after, after) = used
    all_busy = [STEP * (1 + n) for n, number in enumerate(busy) if number == WORKERS]
    return Seen(
        well.delays(well.sent),
        calls=(calls_after - calls_before) * HOUR / END,
        dollars=(after - before) * HOUR / END,
        dead=one.dead_by_reason(),
        back=min(all_busy, default=inf),
    )


def _put(one: Troubled, since: int) -> None:
    """Put the messages, which failed first at `since` and come back one after the other."""
    history = History(since=since, tries=1, reason="refused", error="NotConnected", created=since)
    bodies = list(islice(cycle([_body(number) for number in range(DIFFERENT)]), MESSAGES))
    client: Any = one.simulation.sqs
    messages = [
        Outgoing(body, int(number / MESSAGES_A_SECOND), history)
        for number, body in enumerate(bodies)
    ]
    Queue(one.queue.name, client).send(messages)


def _body(number: int) -> str:
    """Return a message of events, each with a record as S3 makes them."""
    random = Random(number)  # noqa: S311 - what does not compress
    made = []
    for each in range(EVENTS):
        key = f"{number}-{each}"
        told = record(
            key,
            s3__object__eTag=random.randbytes(16).hex(),
            s3__object__sequencer=random.randbytes(9).hex(),
            responseElements={
                "x-amz-request-id": random.randbytes(8).hex().upper(),
                "x-amz-id-2": b64encode(random.randbytes(57)).decode(),
            },
        )
        stored = msgspec.Raw(json.dumps(told).encode())
        made.append(Delivery("rule", event(key, stored=stored, time=AHEAD)))
    ((body, _, _),) = pack(made)
    return body


CELLS = (
    Cell(
        "a target",
        "it is down, and ten million events wait",
        partial(of_waiting, paused=False),
        Bounds(dollars=2 / 24, back=60),
    ),
    Cell(
        "a target",
        "it is paused, and ten million events wait",
        partial(of_waiting, paused=True),
        Bounds(dollars=0.5 / 24, back=60),
        red="each message is received and sent again every 15 minutes",
    ),
)
