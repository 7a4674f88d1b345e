"""The rows of "a target" with ten million waiting events, in messages of a thousand."""

import json
from base64 import b64encode
from functools import partial
from itertools import chain, cycle, islice, repeat
from math import inf
from random import Random
from typing import Any

import msgspec

from bucketcast.delivery.breaker import Outage
from bucketcast.delivery.envelope import Delivery, pack
from bucketcast.delivery.policy import History
from bucketcast.delivery.queue import Outgoing, Queue
from bucketcast.limits import (
    CRASHED_RECEIVES,
    LONGEST_DELAY_SECONDS,
    LOOKS_A_SECOND,
    PAUSED_LOOKS_A_SECOND,
)
from tests.unit.samples import event, record
from tests.unit.simulation.delivering import AHEAD
from tests.unit.simulation.ingesting import Actions
from tests.unit.simulation.sqs import DAY, HOUR, MINUTE
from tests.unit.simulation.troubles.cell import Bounds, Cell, Seen
from tests.unit.simulation.troubles.receivers import Answer, Webhook
from tests.unit.simulation.troubles.scenes import WORKERS, Troubled

EVENTS = 1_000
MESSAGES = 10_000
PAUSES = 5 / 6
"""The mean of the pauses of large messages, in longest ones: two of three times they are hidden."""
DIFFERENT = 20
"""Messages with events of their own; the others have the same ones, for the time that it takes."""
END = 4 * MINUTE
"""Until then nothing is delivered, as in any other minutes of a day."""
STEP, STEPS = 10, 6
LAST = END + STEP * STEPS


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
    _put(one, yesterday, paused=paused)
    spent: list[float] = []
    busy: list[int] = []
    todo: Actions = {at: partial(well.put, f"{at}") for at in range(0, END, MINUTE)}
    for at in (0, END):
        todo[at + 0.01] = lambda: spent.append(one.dollars())
    if paused:
        todo[END + 0.02] = one.set_outage
    for number in range(1, STEPS + 1):
        todo[END + number * STEP + 0.1] = lambda: busy.append(one.function.busy)
    one.simulation.run(days=(LAST + 1) / DAY, actions=todo)
    before, after = spent
    all_busy = [STEP * (1 + n) for n, number in enumerate(busy) if number == WORKERS]
    return Seen(
        well.delays(well.sent),
        dollars=(after - before) * HOUR / END,
        dead=one.dead_by_reason(),
        back=min(all_busy, default=inf),
    )


def _put(one: Troubled, since: int, *, paused: bool) -> None:
    """Put the messages, which wait since `since` and come back one after the other.

    Those that come back later than the end are small, for the time that it takes.
    """
    error = "Paused" if paused else "NotConnected"
    history = History(since=since, tries=1, reason="refused", error=error, created=since)
    hidden = MESSAGES / (PAUSED_LOOKS_A_SECOND if paused else LOOKS_A_SECOND)
    every = PAUSES * (2 * hidden + LONGEST_DELAY_SECONDS) / 3 / MESSAGES
    bodies = islice(cycle([_body(number) for number in range(DIFFERENT)]), round(LAST / every))
    rest = repeat("later", MESSAGES)
    client: Any = one.simulation.sqs
    messages = [Outgoing(body, 0, history) for body in islice(chain(bodies, rest), MESSAGES)]
    Queue(one.queue.name, client).send(messages)
    now = one.simulation.clock.now
    for number, kept in enumerate(one.queue.messages):
        kept.receives = number % CRASHED_RECEIVES
        one.queue.hide(kept, now + number * every, now)


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
    ),
)
