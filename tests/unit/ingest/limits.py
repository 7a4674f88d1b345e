"""The worst input that each limit which meets ingest allows, and what it takes there.

`python -m tests.unit.ingest` prints the table. The worst is searched for: every shape of an
input is tried at a part of its size, and those that take most memory, and most time, in full. Each
is measured in a process of its own, which has imported what ingest imports.
"""

import multiprocessing
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from bucketcast import limits
from bucketcast.errors import BucketcastError
from bucketcast.event.names import FAMILIES
from bucketcast.listen.aws.cache import ListenerCache
from bucketcast.listen.listener import MAX_IN_TOTAL, Listener, ListenFilter, Snapshot
from bucketcast.notifications.api.checks import MOST
from bucketcast.rules import Rule
from bucketcast.rules.conditions import Condition
from bucketcast.rules.cost import cost
from bucketcast.state import rule_items
from bucketcast.state.rule_cache import RuleCache
from bucketcast.state.rules import Version
from tests.unit.ingest.test_memory import sizes
from tests.unit.samples import event
from tests.unit.settings.test_environment import INGEST

ENVIRON = INGEST | {"AWS_LAMBDA_FUNCTION_NAME": "ingest", "AWS_DEFAULT_REGION": "us-east-1"}
SHARE = limits.INGEST_MEMORY_MB / 1_769
"""Of a processor, which Lambda gives by memory."""
PART = 4
"""Inputs are tried at this part of their size."""
ALL = tuple(sorted(FAMILIES))
TEXTS = ("", "x" * 1_010, "x" * 1_000 + "😀")
PATTERNS = (".*[ab].{300}x", r"(?i)[a-z]{3,40}/[\w-]{1,60}", "x" * 990, "x")
WILDCARDS = ("*" + "x" * 1_000, "?" * 1_000, "*x" * 500, "*")
VALUES = {"tag:a": ("{}-{}", "equals"), "source_ip": ("{}::{}", "cidr"), "size": ("{}{}-", "range")}
Shape = Callable[[int], dict[str, Any]]
Stored = tuple[int, list[bytes]]


class Taken(NamedTuple):
    """MB of the whole function, and seconds of it."""

    megabytes: float
    seconds: float


def rules() -> Iterator[Shape]:
    """Rules of any length, for one event and for all."""
    for text, events in product(TEXTS, (ALL[:1], ALL)):
        yield lambda n, t=text, e=events: {"prefix": f"{n}{t}", "events": e}  # type: ignore[misc]
        yield lambda n, t=text, e=events: {  # type: ignore[misc]
            "prefix": f"{n}{t}", "suffix": f"{n}{t}", "events": e
        }  # fmt: skip


def conditions() -> Iterator[Shape]:
    """Many conditions, of many values; prefixes and suffixes of keys, and pairs of them."""
    for on, many in product(VALUES, (1, 500)):
        form, how = VALUES[on]
        yield lambda n, o=on, m=many, f=form, h=how: {  # type: ignore[misc]
            "conditions": tuple(
                Condition(o, tuple(f.format(n, first + v) for v in range(m)), h)
                for first in range(0, 500, m)
            )
        }
    for hows in (("prefix",), ("suffix",), ("prefix", "suffix")):
        yield lambda n, h=hows: {  # type: ignore[misc]
            "conditions": tuple(
                Condition("key", tuple(f"{n}-{v}" for v in range(500)), how) for how in h
            )
        }


def expressions() -> Iterator[Shape]:
    """Regular expressions, looked up together or checked alone, and wildcards."""
    for on, pattern in product(("key", "tag:a"), PATTERNS):
        yield lambda n, o=on, p=pattern: {  # type: ignore[misc]
            "conditions": (Condition(o, (f"{p}{n}",), "regex"),)
        }
    for text in WILDCARDS:
        yield lambda n, t=text: {"prefix": f"{t}{n}"}  # type: ignore[misc]


def filled(shape: Shape, part: int = 1) -> Stored:
    """Return as many rules as a bucket may have, or a part: what they cost, and how they lie."""

    def made(count: int) -> list[Rule]:
        defaults: dict[str, Any] = {
            "bucket": "uploads",
            "arn": "arn:minio:sqs::a:webhook",
            "events": ALL[:1],
        }
        return [Rule(**(defaults | shape(number))) for number in range(1, count + 1)]

    most = limits.BUCKET_RULES_BYTES // part
    count = 2 * most // (cost(made(4)) - cost(made(2)))
    while True:
        written = made(count)
        try:
            if (total := cost(written)) <= most:
                return total, rule_items.pack(written)
        except BucketcastError:
            pass  # their text does not fit into the items
        count = count * 49 // 50 - 1


class Rules:
    """The rules of buckets, as `state.rules` has them."""

    def __init__(self, buckets: Sequence[Stored]) -> None:
        self._buckets = buckets

    def versions(self, names: Iterable[str]) -> dict[str, Version]:
        return {name: Version(1, self._buckets[int(name)][0]) for name in names}

    def in_order(self, name: str) -> list[Rule]:
        return rule_items.unpack(self._buckets[int(name)][1])


def read(buckets: Sequence[Stored]) -> Taken:
    """Read the rules of a batch, and match keys that take RE2 through many states."""
    stored: Any = Rules(buckets)
    began = time.process_time()
    indexes = RuleCache(stored)(frozenset(map(str, range(len(buckets)))))
    seconds = time.process_time() - began
    generator = random.Random(1)  # noqa: S311 - the same keys in every run
    for _ in range(20):
        key = "".join(generator.choices("ab", k=1_024))
        happened = event(key, name=f"{ALL[0][:-1]}Get", tags=[("a", key)], size=1)
        for index in indexes.values():
            try:
                index.match(happened)
            except BucketcastError:
                continue  # its bucket waits
    return Taken(peak_mb(), seconds / SHARE)


def hear(listeners: Sequence[Listener]) -> Taken:
    """Read listeners, and match an event of each of a thousand buckets."""
    table: Any = type("Table", (), {"read": lambda _: Snapshot(1, tuple(listeners), {})})()
    began = time.process_time()
    cached = ListenerCache(table, lambda: 0)
    for index in cached.add_to({}, [f"b{n}" for n in range(1_000)], 1).values():
        index.match(event("x" * 1_024))
    return Taken(peak_mb(), (time.process_time() - began) / SHARE)


def peak_mb() -> float:
    """Return the most memory that this process ever had."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1_024


def measured(measure: Callable[[Any], Taken], given: Any) -> Taken:
    """Measure an input in a process that has imported what ingest imports, and nothing else."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["functions.ingest.handler", __name__])
    with ProcessPoolExecutor(1, context) as pool:
        return pool.submit(measure, given).result()


@cache
def worst(shapes: Callable[[], Iterator[Shape]]) -> tuple[Stored, ...]:
    """Return the rules that take most memory, and those that take most time."""
    tried = [
        (measured(read, [filled(shape, PART)]), number) for number, shape in enumerate(shapes())
    ]
    found = {max(tried)[1], max(tried, key=lambda each: each[0].seconds)[1]}
    return tuple(filled(shape) for number, shape in enumerate(shapes()) if number in found)


def most(taken: Iterable[Taken]) -> Taken:
    """Return the most memory and the most time of any."""
    return Taken(*map(max, zip(*taken, strict=True)))


def of_a_bucket(shapes: Callable[[], Iterator[Shape]]) -> Taken:
    return most(measured(read, [each]) for each in worst(shapes))


def of_all_buckets() -> Taken:
    """The worst of a bucket, in more buckets than may be read at once."""
    return most(measured(read, [each] * 8) for shapes in SHAPES for each in worst(shapes))


def of_listeners() -> Taken:
    def made(number: int) -> Listener:
        texts = (f"{number}{text}" for text in TEXTS[1:])
        wanted = ListenFilter("user", "", ALL, *texts)
        return Listener(id=f"{number}", requested=wanted, queue="q", since=1)

    return measured(hear, [*map(made, range(MAX_IN_TOTAL))])


def of_topics() -> Taken:
    """A batch of small events, each with a copy for every notification."""
    seen = sizes()
    return Taken(measured(read, []).megabytes + seen["peak"] - seen["before"], 0)


SHAPES = (rules, conditions, expressions)
BUCKET, KEPT = (f"{each:,} bytes" for each in (limits.BUCKET_RULES_BYTES, limits.KEPT_RULES_BYTES))
LIMITS: dict[tuple[str, str], Callable[[], Taken]] = {
    ("rules of a bucket", BUCKET): partial(of_a_bucket, rules),
    ("conditions of a bucket", BUCKET): partial(of_a_bucket, conditions),
    ("regular expressions of a bucket", BUCKET): partial(of_a_bucket, expressions),
    ("rules of all buckets of a batch", KEPT): of_all_buckets,
    ("listeners", f"{MAX_IN_TOTAL}"): of_listeners,
    ("notifications of topics, a bucket", f"{MOST:,}"): of_topics,
}
