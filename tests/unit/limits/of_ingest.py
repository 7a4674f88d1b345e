"""The worst input that each limit which meets ingest allows, and what it takes there.

The worst is searched for: every shape of an input is tried at a part of its size, and those that
take most memory, and most time, in full. Each is measured in a process of its own, which has
imported what ingest imports.
"""

import hashlib
import multiprocessing
import random
import resource
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import cache, partial
from itertools import product
from operator import le
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from bucketcast import limits
from bucketcast.delivery.engine import Engine
from bucketcast.delivery.envelope import pack
from bucketcast.delivery.messages import Item, Message
from bucketcast.delivery.policy import Policy
from bucketcast.destination import Destination
from bucketcast.errors import BucketcastError
from bucketcast.event.names import FAMILIES
from bucketcast.ingest.intake import Intake
from bucketcast.listen.aws.cache import ListenerCache
from bucketcast.listen.listener import Listener, ListenFilter, Snapshot
from bucketcast.rules import Rule, RuleIndex
from bucketcast.rules.conditions import Condition
from bucketcast.rules.cost import cost
from bucketcast.rules.regexes import Cost
from bucketcast.state import rule_items
from bucketcast.state.rule_cache import RuleCache
from bucketcast.state.rules import Version
from tests.unit.delivery.bench import NOW, FakeQueue
from tests.unit.samples import event, message, record
from tests.unit.settings.test_environment import INGEST

ENVIRON = INGEST | {"AWS_LAMBDA_FUNCTION_NAME": "ingest", "AWS_DEFAULT_REGION": "us-east-1"}
SHARE = limits.INGEST_MEMORY_MB / 1_769
"""Of a processor, which Lambda gives by memory."""
WORK_SECONDS = 0.035
"""Of a processor, for the work that `in_ingest` compares with."""
COST = Cost(limits.MOST_BUCKET_RULES_BYTES, limits.MOST_BUCKET_RULES_STEPS)
PART = 8
"""Inputs are tried at this part of their size."""
ALL = tuple(sorted(FAMILIES))
TEXTS = ("", "x" * 1_010, "x" * 1_000 + "😀")
PATTERNS = (
    ".*[ab].{100}x",
    r"(?i)[a-z]{3,40}/[\w-]{1,60}",
    "x" * 990,
    "x",
    "(?:.*.){40}",
    ".*a" * 30,
    "(?:(?:a?){10}b?){20}",
    r".*[^b]?\w{60}",
)
WILDCARDS = ("*" + "x" * 1_000, "?" * 540, "*x" * 480, "*")
VALUES = (("tag:a", "equals", "#-{}"), ("source_ip", "cidr", "#::{}"), ("size", "range", "#{}-"))
Stored = tuple[int, list[bytes]]


class Taken(NamedTuple):
    """MB of the whole function, its seconds to read what there is, and to match one event."""

    megabytes: float
    seconds: float = 0
    match: float = 0


class Row(NamedTuple):
    """A row of the table: the limits, by their names in `limits`, that the worst input fills."""

    name: str
    limits: tuple[str, ...]
    take: Callable[[], Taken]


def made(**fields: Any) -> Rule:
    """Return a shape of rules, whose number stands for each `#` in it."""
    defaults = {"bucket": "uploads", "arn": "arn:minio:sqs::a:webhook", "events": ALL[:1]}
    return Rule(**(defaults | fields))


def rules() -> Iterator[Rule]:
    """Rules of any length, for one event and for all, with short ids and long ones."""
    for text, suffix, events in product(TEXTS, (True, False), (ALL[:1], ALL)):
        yield made(prefix=f"#{text}", suffix=f"#{text}" if suffix else "", events=events)
    yield made(prefix="#", label="😀" * limits.MOST_ID_CHARACTERS)


def conditions() -> Iterator[Rule]:
    """Many conditions, of many values; prefixes and suffixes of keys, and pairs of them."""
    for (on, how, form), many, all_ in product(VALUES, (1, 500), (1, 500)):
        values = [tuple(form.format(n + v) for v in range(many)) for n in range(0, all_, many)]
        yield made(conditions=[Condition(on, each, how) for each in values])  # type: ignore[arg-type]
    for text in TEXTS[1:]:
        yield made(conditions=[Condition(f"tag:#{text}", ("#",))])
    numbers = tuple(f"#-{value}" for value in range(500))
    for hows in (("prefix",), ("suffix",), ("prefix", "suffix")):
        yield made(conditions=[Condition("key", numbers, how) for how in hows])  # type: ignore[arg-type]


def expressions() -> Iterator[Rule]:
    """Regular expressions, looked up together or checked alone, and wildcards."""
    for on, pattern in product(("key", "tag:a", "metadata:x-amz-meta-a"), PATTERNS):
        yield made(conditions=[Condition(on, (f"{pattern}#",), "regex")])
    yield from (made(prefix=f"{text}#") for text in WILDCARDS)


def filled(shape: Rule, part: int = 1) -> Stored | None:
    """Return as many rules as a bucket may have, or a part: what they cost, and how they lie.

    None where a single one is too many.
    """
    text, most = msgspec.json.encode(shape), [number // part for number in COST]

    def numbered(count: int) -> Iterator[Rule]:
        return (msgspec.json.decode(text.replace(b"#", b"%d" % n), type=Rule) for n in range(count))

    def stored(count: int) -> Stored | None:
        found = cost(numbered(count))
        if all(map(le, found, most)):
            with suppress(BucketcastError):  # their text does not fit into the items
                return found.memory, rule_items.pack([*numbered(count)])
        return None

    one, two = cost(numbered(1)), cost(numbered(2))
    more = zip(one, two, most, strict=True)  # each costs about as much as the one before
    count = min((m - a) // (b - a) for a, b, m in more if b > a) + 1
    best, low, high = None, 0, count + 1
    while high - low > 1 + high // 50:
        if fitting := stored(count):
            best, low = fitting, count
        else:
            high = count
        count = (low + high) // 2
    return best


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
    return Taken(peak_mb(), in_ingest(seconds), longest(indexes.values()))


def in_ingest(seconds: float) -> float:
    """Return how long it takes there; a slow moment, or machine, is one for known work as well."""
    began = time.process_time()
    assert {hashlib.sha256(b"%d" % number).digest() for number in range(50_000)}
    return seconds / SHARE * WORK_SECONDS / (time.process_time() - began)


def longest(indexes: Iterable[RuleIndex]) -> float:
    """Return the most seconds to match a key."""
    generator = random.Random(1)  # noqa: S311 - the same keys in every run
    match = 0.0
    for letters in ["ab", "ab/", "a", "x", "aé"]:
        key = "".join(generator.choices(letters, k=1_024 // len(letters[-1].encode())))
        metadata = {"x-amz-meta-a": 2 * key}
        tags = [("a", key[:256])]
        happened = event(key, name=f"{ALL[0][:-1]}Get", size=1, tags=tags, metadata=metadata)
        for index in indexes:
            began = time.process_time()
            with suppress(BucketcastError):  # its bucket waits
                index.match(happened)
            match = max(match, time.process_time() - began)
    return match / SHARE


def hear(most: int, users: int) -> Taken:
    """Read the longest listeners of so many users, and match events of a thousand buckets.

    Those with wildcards are of one bucket, as far as it may have them, the others of all.
    """
    heard = Snapshot(1, (), {})
    for number, text in enumerate((*[each[:220] for each in WILDCARDS] * 10, *TEXTS[1:] * most)):
        bucket = "" if text in TEXTS else "0"
        wanted = ListenFilter(
            f"{number % users}", bucket, ALL, f"{text}{number}", text * (not bucket)
        )
        new = Listener(id=f"{number}", requested=wanted, queue="q", since=1)
        if not heard.limit_error(new, most, 0):
            heard = msgspec.structs.replace(heard, listeners=(*heard.listeners, new))
    assert len(heard.listeners) == most
    table: Any = type("Table", (), {"read": lambda _: heard})()
    began = time.process_time()
    indexes = ListenerCache(table, lambda: 0).add_to({}, [*map(str, range(1_000))], 1)
    for index in indexes.values():
        index.match(event("x" * 1_024))
    ended = time.process_time()
    assert indexes["0"].match(event("3")), "all of a bucket's wildcards fit into its index"
    return Taken(peak_mb(), in_ingest(ended - began), longest([indexes["0"]]))


class Sending:
    """Packs what there is to send, and takes all of it."""

    sent = 0

    def send(self, batches: Mapping[Destination, Sequence[Item]], _: object) -> tuple[()]:
        for batch in batches.values():
            self.sent += sum(
                each.stop - each.start for each in pack([one.delivery for one in batch])
            )
        return ()


def copy(notifications: int) -> Taken:
    """Send each event of a batch on for every notification of its bucket."""
    index = RuleIndex(made(name=f"{number}", events=ALL) for number in range(notifications))
    body = message(*(record(f"{number}") for number in range(4)))
    given = [Message(f"{number}", f"{number}", body, NOW, 1) for number in range(150)]
    sending: Any = Sending()
    intake = Intake(lambda _: {"uploads": index}, None, sending)
    engine = Engine(FakeQueue(), intake, chunk_bytes=limits.INGEST_CHUNK_BYTES)
    outcome = engine(given, Policy(), now=NOW, remaining=lambda: 30.0)
    assert (sending.sent, outcome.stay) == (600 * notifications, [])
    return Taken(peak_mb())


def peak_mb() -> float:
    """Return the most memory that this process ever had."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1_024


def measured(measure: Callable[..., Any], *given: Any, seconds: int = 60) -> Any:
    """Measure an input in a process that has imported what ingest imports, and nothing else.

    It is killed once it has used more seconds of a processor: where a cost is not counted, the
    search would find no end.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["functions.ingest.handler", __name__])
    limit = (resource.RLIMIT_CPU, (seconds, seconds))
    with ProcessPoolExecutor(1, context, initializer=resource.setrlimit, initargs=limit) as pool:
        return pool.submit(measure, *given).result()


@cache
def worst(shapes: Callable[[], Iterator[Rule]]) -> tuple[Stored, ...]:
    """Return the rules that take most memory, and those that take most time."""
    every, fill = [*shapes()], partial(measured, filled, seconds=10)  # measured: 1
    parts = {number: fill(shape, PART) for number, shape in enumerate(every)}
    tried = {number: measured(read, [part]) for number, part in parts.items() if part}
    found = {max(tried, key=lambda number: tried[number][field]) for field in range(3)}
    found |= parts.keys() - tried.keys()  # a single one is too many for a part
    return tuple(stored for number in found if (stored := fill(every[number])))


def of_buckets(number: int, *every: Callable[[], Iterator[Rule]]) -> Taken:
    """Return the most memory and the most time of so many buckets with the worst rules."""
    taken = [measured(read, [each] * number) for shapes in every for each in worst(shapes)]
    return Taken(*map(max, zip(*taken, strict=True)))


RULES = ("MOST_BUCKET_RULES_BYTES", "MOST_BUCKET_RULES_TEXT_BYTES", "MOST_ID_CHARACTERS")
STEPS = ("MOST_BUCKET_RULES_STEPS", "MOST_REGEX_CHARACTERS")
EVERY = (rules, conditions, expressions)
HEARD = ("MOST_LISTENERS", "MOST_BUCKET_LISTENERS_STEPS")
HEARD_BY_ONE = ("MOST_USER_LISTENERS", "MOST_USER_LISTENERS_STEPS")
COPIES = ("MOST_BUCKET_NOTIFICATIONS", "MOST_TENANT_NOTIFICATIONS")
ROWS = (
    Row("rules of a bucket", RULES, partial(of_buckets, 1, rules)),
    Row("conditions of a bucket", ("MOST_FILTER_BYTES",), partial(of_buckets, 1, conditions)),
    Row("regular expressions of a bucket", STEPS, partial(of_buckets, 1, expressions)),
    Row("rules of a batch", ("MOST_KEPT_RULES_BYTES",), partial(of_buckets, 8, *EVERY)),
    Row("listeners of all", HEARD, partial(measured, hear, *(limits.MOST_LISTENERS,) * 2)),
    Row("listeners of one", HEARD_BY_ONE, partial(measured, hear, limits.MOST_USER_LISTENERS, 1)),
    Row("notifications", COPIES, partial(measured, copy, limits.MOST_BUCKET_NOTIFICATIONS)),
)
