"""The injected events: those of a bucket that is only a model, as S3's services say them.

The model knows what a listing would show in the end; what is sent of it is doubled, shuffled, and
partly dated by clocks that are wrong, as S3 allows itself. Poison is among it.
"""

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from tests.contract.bucket import Bucket, Happened, Step, perform
from tests.contract.bucket_records import Dialect, body

BUCKET = "records"
DIALECT: Dialect = "s3"
BY_EVENTBRIDGE = 0.05
"""The share of events that come through EventBridge, one a message."""
DOUBLED = 0.04
"""Of the messages: those that are sent twice."""
REORDERED = 60
"""How many positions a message may be early or late."""
SKEWED_KEYS = 0.2
LONGEST_SKEW = timedelta(hours=20)
REFUSED = "poison"
"""Keys that begin with it the webhook's server refuses for good."""
UNTAKEN = "nul\0"
"""Keys that begin with it PostgreSQL's text cannot hold."""
_LIKELY = {"create": 6.0, "change": 4.0, "delete": 2.0, "remove": 2.0, "expire": 0.7}
_LIKELY |= {"expire older": 0.7, "versioning": 0.02}
_EVENTS_A_KEY = 20
_AT_ONCE = 50


class Identity(NamedTuple):
    """An injected event, by what no two of them have in common."""

    path: str
    request: str


class Send(NamedTuple):
    """A message for the ingress queue, or for the queue of a target; `events` are how many."""

    body: str
    events: int
    target: str = ""


@dataclass
class Made:
    """The model with its history, the messages in the order in which they are sent, and the poison.

    `sent_counts` is how often each event is sent. `dead` are the events that a target must bury, by
    `<kind>.<id>`, and `broken` the messages that are no events, by the queue that they are sent to
    (the ingress queue is ""), which lie beside it in the end.
    """

    bucket: Bucket
    history: list[Happened] = field(default_factory=list)
    sends: list[Send] = field(default_factory=list)
    sent_counts: Counter[Identity] = field(default_factory=Counter)
    dead: dict[str, set[Identity]] = field(default_factory=dict)
    broken: dict[str, set[str]] = field(default_factory=dict)


def make(events: int, source: random.Random, targets: Sequence[str], *, together: int) -> Made:
    """Plan about so many events, up to `together` in a message."""
    made = Made(Bucket(versioning="on" if source.random() < 0.5 else "off"))
    poison = max(2, events // 2_000)
    bodies = list(_bodies(made, events, poison, source))
    messages = list(_messages(bodies, source, together))
    for target in ("", *targets):
        texts = [_broken(target, number) for number in range(poison if target == "" else 2)]
        made.broken[target] = set(texts)
        for text in texts:
            index = source.randrange(len(messages))
            messages.insert(index, (Send(text, 0, target), ()))
    for send, identities in _in_the_order_of_arrival(messages, source):
        made.sends.append(send)
        made.sent_counts.update(identities)
    return made


def _bodies(
    made: Made, events: int, poison: int, source: random.Random
) -> Iterator[tuple[dict[str, Any], Identity]]:
    """What is sent of each event, with what it is known by."""
    weights = list(_LIKELY.values())
    keys = max(8, events // _EVENTS_A_KEY)
    planted = sorted(source.randrange(events) for _ in range(2 * poison))
    count = 0
    while count < events:
        steps: list[Step] = []
        while planted and planted[0] <= count:
            steps.append(_poison(len(planted), planted.pop(0)))
        for kind in source.choices(list(_LIKELY), weights, k=_AT_ONCE):
            number = source.randrange(keys)
            skewed = number < keys * SKEWED_KEYS
            # What has no sequencer S3 orders by the clock alone: such keys get no other event.
            step = "create" if skewed and kind == "change" else kind
            steps.append((step, f"{'skewed' if skewed else 'k'} {number:05}/ä+%", number + count))
        for it in perform(made.bucket, steps):
            made.history.append(it)
            if text := body(DIALECT, BUCKET, it, source, BY_EVENTBRIDGE):
                identity = Identity(f"{BUCKET}/{it.key}", f"{it.at:016X}")
                _plant(made, identity, it.key)
                yield _dated(text, it.key, source), identity
                count += 1


def _poison(left: int, number: int) -> Step:
    return ("create", f"{REFUSED if left % 2 else UNTAKEN} {number}", 0)


def _plant(made: Made, identity: Identity, key: str) -> None:
    for target, prefix in (("webhook.ten", REFUSED), ("postgres.ten", UNTAKEN)):
        if key.startswith(prefix):
            made.dead.setdefault(target, set()).add(identity)


def _dated(made: dict[str, Any], key: str, source: random.Random) -> dict[str, Any]:
    """The same by a clock that is wrong, where the sequencer says what came after what."""
    if key.startswith("skewed") and "Records" in made and source.random() < 0.5:
        (record,) = made["Records"]
        time = datetime.fromisoformat(record["eventTime"])
        wrong = time + LONGEST_SKEW * source.uniform(-1, 1)
        text = wrong.isoformat(timespec="milliseconds")
        record["eventTime"] = text.replace("+00:00", "Z")
    return made


def _messages(
    bodies: Sequence[tuple[dict[str, Any], Identity]], source: random.Random, together: int
) -> Iterator[tuple[Send, Sequence[Identity]]]:
    """Messages of up to `together` records of S3; what EventBridge sends goes alone."""
    records: list[Any] = []
    members: list[Identity] = []
    size = source.randint(1, together)
    for made, identity in bodies:
        if "Records" not in made:
            yield Send(json.dumps(made), 1), [identity]
            continue
        records += made["Records"]
        members.append(identity)
        if len(records) >= size:
            yield Send(json.dumps({"Records": records}), len(records)), members
            records, members, size = [], [], source.randint(1, together)
    if records:
        yield Send(json.dumps({"Records": records}), len(records)), members


def _in_the_order_of_arrival(
    messages: Sequence[tuple[Send, Sequence[Identity]]], source: random.Random
) -> Iterator[tuple[Send, Sequence[Identity]]]:
    shuffled = [(index + source.uniform(0, REORDERED), one) for index, one in enumerate(messages)]
    for index, (send, identities) in enumerate(messages):
        if identities and source.random() < DOUBLED:
            again = send._replace(events=0)
            shuffled.append((index + source.uniform(0, 10 * REORDERED), (again, identities)))
    shuffled.sort(key=lambda each: each[0])
    return (one for _, one in shuffled)


def _broken(target: str, number: int) -> str:
    """What no source reads, or what is no envelope of a target's queue."""
    kinds = (f"no JSON {number}", f'{{"Records": [{{"broken": {number}}}]}}')
    return f"{target} {kinds[0]}".strip() if target else kinds[number % len(kinds)]
