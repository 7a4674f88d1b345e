"""The rows of topics that are tried once: hundreds of them share a queue and its functions."""

from collections import Counter
from functools import partial

from bucketcast.destination import TopicArn
from tests.unit.simulation.ingesting import Actions
from tests.unit.simulation.lambdas import Delays
from tests.unit.simulation.sqs import HOUR, MINUTE
from tests.unit.simulation.topics import Topics
from tests.unit.simulation.troubles.cell import Bounds, Cell, Seen, price

ALL, TROUBLED = 570, 500
MINUTES = 5
END = 2
"""The trouble is over after so many minutes."""


def of_topics(kind: str) -> Seen:
    """Play minutes with an event a minute of each topic; the trouble ends before."""
    one = Topics(trouble_ends=END * MINUTE)
    topics = [TopicArn("r", "", f"{kind if n < TROUBLED else 'well'}{n}") for n in range(ALL)]
    todo: Actions = {}
    for minute in range(MINUTES):
        for n, topic in enumerate(topics):
            at = (minute + n * 7 % ALL / ALL) * MINUTE
            todo[at] = partial(one.send, topic, f"{topic.name} {minute}")
    one.run((MINUTES + 1) * MINUTE, todo)
    got = one.got
    others = [got.get(key, float("inf")) - at for key, at in one.put.items() if "well" in key]
    hours = (MINUTES + 1) * MINUTE / HOUR
    lost = sum(counts["lost"] for counts in one.counted.values())
    return Seen(
        Delays.of(others),
        dollars=price(one.simulation) / hours,
        dead=Counter({"lost, and counted": lost}),
        back=_back(one, topics) - END * MINUTE,
        faults=tuple(_faults(one, topics)),
    )


def _back(one: Topics, topics: list[TopicArn]) -> float:
    """Return when the last of the troubled topics got an event again."""
    first = {topic.name: float("inf") for topic in topics[:TROUBLED]}
    for key, at in one.got.items():
        name = key.partition(" ")[0]
        if name in first:
            first[name] = min(first[name], at)
    return max(first.values()) - min(one.put.values())


def _faults(one: Topics, topics: list[TopicArn]) -> list[str]:
    came = Counter(key.partition(" ")[0] for key in one.got)
    uncounted = 0
    for topic in topics:
        got = came[topic.name]
        uncounted += one.counted[topic.arn] != Counter(sent=got, lost=MINUTES - got)
    found = {
        "topics of which a loss was not counted": uncounted,
        "messages still wait": len(one.queue.messages),
        "messages were dropped": len(one.queue.dropped),
    }
    return [f"{number} {what}" for what, number in found.items() if number]


def _cell(when: str, kind: str) -> Cell:
    bounds = Bounds(dead=(0, TROUBLED * MINUTES), reason="counted", back=5 * MINUTE)
    return Cell("topics tried once, 500 at once", when, partial(of_topics, kind), bounds)


CELLS = (
    _cell("they hang", "hangs"),
    _cell("they refuse connections", "refuses"),
    _cell("their logins are wrong", "login"),
    _cell("they were deleted while events wait", "deleted"),
)
