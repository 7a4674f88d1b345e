"""The injected events: those of a bucket that is only a model, in the forms of S3's services.

The model knows the final listing. Its messages are repeated, shuffled, and partly dated by wrong
clocks, as S3's may be. There is poison among them.
"""

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from tests.contract.bucket import Bucket, Happened, Step, perform
from tests.contract.bucket_records import Dialect, Shown, body, shown

BUCKET = "records"
DIALECT: Dialect = "s3"
BY_EVENTBRIDGE = 0.05
"""The share of events that come through EventBridge, one in a message."""
DOUBLED = 0.04
"""The share of messages that are sent twice."""
REORDERED = 60
"""The number of positions by which a message may be early or late."""
SKEWED_KEYS = 0.2
LONGEST_SKEW = timedelta(hours=20)
REFUSED = "poison"
"""The webhook's server rejects keys that begin with it."""
UNTAKEN = "nul\0"
"""PostgreSQL's text cannot hold keys that begin with it."""
_LIKELY = {"create": 6.0, "change": 4.0, "delete": 2.0, "remove": 2.0, "expire": 0.7}
_LIKELY |= {"expire older": 0.7, "versioning": 0.02}
_EVENTS_A_KEY = 20
_AT_ONCE = 50


class Identity(NamedTuple):
    """An injected event, by values that identify it."""

    path: str
    request: str


class Send(NamedTuple):
    """A message of so many `events` for the ingress queue, or for the queue of a target."""

    body: str
    events: int
    target: str = ""


@dataclass
class Injected:
    """The model with its history, the messages in the order in which they are sent, and the poison.

    `sent_counts` counts the messages of each event; `shown` is what a log has to show of it. `dead`
    are the events that a target must dead-letter, by `<kind>.<id>`, and `broken` the messages that
    are no events, by their queue (the ingress queue is ""), which must be among its dead letters in
    the end.
    """

    bucket: Bucket
    history: list[Happened] = field(default_factory=list)
    sends: list[Send] = field(default_factory=list)
    sent_counts: Counter[Identity] = field(default_factory=Counter)
    shown: dict[Identity, Shown] = field(default_factory=dict)
    dead: dict[str, set[Identity]] = field(default_factory=dict)
    broken: dict[str, set[str]] = field(default_factory=dict)


def inject(
    events: int, source: random.Random, targets: Sequence[str], *, together: int
) -> Injected:
    """Plan about so many events, up to `together` in a message."""
    injected = Injected(Bucket(versioning="on" if source.random() < 0.5 else "off"))
    poison = max(2, events // 2_000)
    bodies = list(_bodies(injected, events, poison, source))
    messages = list(_messages(bodies, source, together))
    for target in ("", *targets):
        texts = [_broken(target, number) for number in range(poison if target == "" else 2)]
        injected.broken[target] = set(texts)
        for text in texts:
            index = source.randrange(len(messages))
            messages.insert(index, (Send(text, 0, target), ()))
    for send, identities in _shuffle(messages, source):
        injected.sends.append(send)
        injected.sent_counts.update(identities)
    return injected


def _bodies(
    injected: Injected, events: int, poison: int, source: random.Random
) -> Iterator[tuple[dict[str, Any], Identity]]:
    """Yield the document of each event, with its identity."""
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
            # An event without a sequencer is ordered by the clock alone: skewed keys get none.
            step = "create" if skewed and kind == "change" else kind
            steps.append((step, f"{'skewed' if skewed else 'k'} {number:05}/ä+%", number + count))
        for happened in perform(injected.bucket, steps):
            injected.history.append(happened)
            if document := body(DIALECT, BUCKET, happened, source, BY_EVENTBRIDGE):
                identity = Identity(f"{BUCKET}/{happened.key}", f"{happened.at:016X}")
                injected.shown[identity] = shown(happened, document)
                _plant(injected, identity, happened.key)
                yield _dated(document, happened.key, source), identity
                count += 1


def _poison(remaining: int, number: int) -> Step:
    return ("create", f"{REFUSED if remaining % 2 else UNTAKEN} {number}", 0)


def _plant(injected: Injected, identity: Identity, key: str) -> None:
    for target, prefix in (("webhook.ten", REFUSED), ("postgres.ten", UNTAKEN)):
        if key.startswith(prefix):
            injected.dead.setdefault(target, set()).add(identity)


def _dated(document: dict[str, Any], key: str, source: random.Random) -> dict[str, Any]:
    """Date some events by a wrong clock, where the sequencer has their order."""
    if key.startswith("skewed") and "Records" in document and source.random() < 0.5:
        (record,) = document["Records"]
        time = datetime.fromisoformat(record["eventTime"])
        wrong = time + LONGEST_SKEW * source.uniform(-1, 1)
        text = wrong.isoformat(timespec="milliseconds")
        record["eventTime"] = text.replace("+00:00", "Z")
    return document


def _messages(
    bodies: Sequence[tuple[dict[str, Any], Identity]], source: random.Random, together: int
) -> Iterator[tuple[Send, Sequence[Identity]]]:
    """Yield messages of up to `together` records of S3, or of one event of EventBridge."""
    records: list[Any] = []
    members: list[Identity] = []
    size = source.randint(1, together)
    for document, identity in bodies:
        if "Records" not in document:
            yield Send(json.dumps(document), 1), [identity]
            continue
        records += document["Records"]
        members.append(identity)
        if len(records) >= size:
            yield Send(json.dumps({"Records": records}), len(records)), members
            records, members, size = [], [], source.randint(1, together)
    if records:
        yield Send(json.dumps({"Records": records}), len(records)), members


def _shuffle(
    messages: Sequence[tuple[Send, Sequence[Identity]]], source: random.Random
) -> Iterator[tuple[Send, Sequence[Identity]]]:
    shuffled = [
        (index + source.uniform(0, REORDERED), message) for index, message in enumerate(messages)
    ]
    for index, (send, identities) in enumerate(messages):
        if identities and source.random() < DOUBLED:
            repeat = send._replace(events=0)
            shuffled.append((index + source.uniform(0, 10 * REORDERED), (repeat, identities)))
    shuffled.sort(key=lambda pair: pair[0])
    return (message for _, message in shuffled)


def _broken(target: str, number: int) -> str:
    """Return a message that no source reads, or that is not an envelope of a target's queue."""
    kinds = (f"no JSON {number}", f'{{"Records": [{{"broken": {number}}}]}}')
    return f"{target} {kinds[0]}".strip() if target else kinds[number % len(kinds)]
