"""Ingest's own work: events a second of one core, and rule matching, at 1 to 10,000 rules.

From 100 rules on, a hundred of them have a regular expression instead of a prefix.

Each figure is the median of several rounds. The rounds of the sizes alternate, so that a slow
moment of the machine affects all of them. Run: `python -m benchmarks.ingest`.
"""

import random
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks import events
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
        bucket=events.BUCKET,
        arn="arn:minio:sqs::primary:webhook",
        events=("s3:ObjectCreated:*",),
        prefix="photos/",
        suffix=".jpg",
    )
    generator = random.Random(7)  # noqa: S311 - the same rules in every run
    others = [
        Rule(
            bucket=events.BUCKET,
            arn=f"arn:minio:sqs::t{number % 50}:webhook",
            events=("s3:ObjectCreated:*",),
            suffix=generator.choice(("", ".png", ".jpeg", ".csv.gz")),
            **_filter(number, generator),
        )
        for number in range(count - 1)
    ]
    return [matching, *others]


def _filter(number: int, generator: random.Random) -> dict[str, Any]:
    if number < REGEXES:
        regex = rf"(team|group)-[0-9]+/{number}/.*\.(png|csv)"
        return {"conditions": (Condition(on="key", how="regex", values=(regex,)),)}
    return {"prefix": "team-" + "x" * generator.randrange(1, 20) + f"/{number}/"}


def main() -> None:
    received = [*map(_received, events.bodies(EVENTS))]
    parsed = events.events(EVENTS)
    indexes = {size: RuleIndex(rules(size)) for size in SIZES}
    matching = _measure({size: partial(_match, index, parsed) for size, index in indexes.items()})
    whole = _measure({size: partial(_ingest, index, received) for size, index in indexes.items()})
    print(
        f"{'rules':>8} {'matching µs/event':>18} {'x of 1 rule':>12}"
        f" {'ingest events/s':>16} {'x of 1 rule':>12}"
    )
    for size in SIZES:
        print(
            f"{size:>8,} {matching[size] * 1e6:>18.2f} {matching[size] / matching[1]:>12.2f}"
            f" {1 / whole[size]:>16,.0f} {whole[size] / whole[1]:>12.2f}"
        )


def _match(index: RuleIndex, parsed: list[Event]) -> None:
    for event in parsed:
        index.match(event)


def _ingest(index: RuleIndex, received: list[Received]) -> None:
    fanout: Any = None  # nothing is sent
    intake = Intake(lambda _: {}, None, fanout)
    items = [Item(message, part) for message in received for part in intake.open(message)]
    route(items, lambda _: {events.BUCKET: index}, None, lambda: 0)


def _received(body: str) -> Received:
    message = Message("", "", body, 1, 1)
    return Received(message, Term(1, 1, 1, message.history, Policy()))


def _measure(work: dict[int, Callable[[], object]]) -> dict[int, float]:
    """Return the median CPU seconds per event, by size."""
    durations: dict[int, list[float]] = {size: [] for size in work}
    for _ in range(ROUNDS):
        for size, run in work.items():
            start = time.process_time()
            run()
            durations[size].append((time.process_time() - start) / EVENTS)
    return {size: statistics.median(times) for size, times in durations.items()}


if __name__ == "__main__":
    main()
