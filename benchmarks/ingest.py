"""Ingest's own work: events a second of one core, and rule matching, at 1 to 10,000 rules.

From 100 rules on, a hundred of them have a regular expression instead of a prefix.

Each figure is the median of several rounds, and the rounds of the sizes take turns, so that a
slow moment of the machine hits all of them. Run: `python -m benchmarks.ingest`.
"""

import random
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks import events as made
from bucketcast.delivery.messages import Item, Message, Received
from bucketcast.delivery.policy import Policy, Term
from bucketcast.event import Event
from bucketcast.ingest.intake import Intake
from bucketcast.ingest.routing import route
from bucketcast.rules import Rule, RuleIndex
from bucketcast.rules.conditions import Condition

SIZES = (1, 100, 10_000)
EVENTS = 2_000
ROUNDS = 15
REGEXES = 100


def rules(count: int) -> list[Rule]:
    """Return one rule that matches every event, and others of many prefixes and suffixes."""
    matching = Rule(
        bucket=made.BUCKET,
        arn="arn:minio:sqs::primary:webhook",
        events=("s3:ObjectCreated:*",),
        prefix="photos/",
        suffix=".jpg",
    )
    pick = random.Random(7)  # noqa: S311 - the same rules in every run
    others = [
        Rule(
            bucket=made.BUCKET,
            arn=f"arn:minio:sqs::t{number % 50}:webhook",
            events=("s3:ObjectCreated:*",),
            suffix=pick.choice(("", ".png", ".jpeg", ".csv.gz")),
            **_ends(number, pick),
        )
        for number in range(count - 1)
    ]
    return [matching, *others]


def _ends(number: int, pick: random.Random) -> dict[str, Any]:
    if number < REGEXES:
        regex = rf"(team|group)-[0-9]+/{number}/.*\.(png|csv)"
        return {"conditions": (Condition(on="key", how="regex", values=(regex,)),)}
    return {"prefix": "team-" + "x" * pick.randrange(1, 20) + f"/{number}/"}


def main() -> None:
    received = [*map(_received, made.bodies(EVENTS))]
    events = made.events(EVENTS)
    indexes = {size: RuleIndex(rules(size)) for size in SIZES}
    matching = _turns({size: partial(_match, index, events) for size, index in indexes.items()})
    whole = _turns({size: partial(_ingest, index, received) for size, index in indexes.items()})
    print(
        f"{'rules':>8} {'matching µs/event':>18} {'x of 1 rule':>12}"
        f" {'ingest events/s':>16} {'x of 1 rule':>12}"
    )
    for size in SIZES:
        print(
            f"{size:>8,} {matching[size] * 1e6:>18.2f} {matching[size] / matching[1]:>12.2f}"
            f" {1 / whole[size]:>16,.0f} {whole[size] / whole[1]:>12.2f}"
        )


def _match(index: RuleIndex, events: list[Event]) -> None:
    for event in events:
        index.match(event)


def _ingest(index: RuleIndex, received: list[Received]) -> None:
    fanout: Any = None  # nothing is sent
    intake = Intake(lambda _: {}, None, fanout)
    items = [Item(one, each) for one in received for each in intake.open(one)]
    route(items, lambda _: {made.BUCKET: index}, None, lambda: 0)


def _received(body: str) -> Received:
    one = Message("", "", body, 1, 1)
    return Received(one, Term(1, 1, 1, one.history, Policy()))


def _turns(work: dict[int, Callable[[], object]]) -> dict[int, float]:
    """Return the median CPU seconds per event, by size."""
    spent: dict[int, list[float]] = {size: [] for size in work}
    for _ in range(ROUNDS):
        for size, run in work.items():
            start = time.process_time()
            run()
            spent[size].append((time.process_time() - start) / EVENTS)
    return {size: statistics.median(times) for size, times in spent.items()}


if __name__ == "__main__":
    main()
