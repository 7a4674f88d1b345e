"""Why events came more than once, from the traces that the functions write themselves.

A repeat is put down, in this order, to a message that was sent twice; to the function having said
twice that it delivered, since the queue gave it the event twice (ingest wrote it twice, or the
function was killed after it had delivered, or took too long); to a try that failed although the
server had taken the event, by its reason; and else to an attempt without a recorded end: the
function was killed, or out of time.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from bucketcast.delivery import tracing
from bucketcast.diagnose.steps import read_steps

SENT_TWICE = "the message was sent twice on purpose"
DELIVERED_TWICE = (
    "delivered twice: ingest or the function was killed late, or a batch outlasted its visibility"
)
NEVER_ENDED = "a try without an end: the function was killed in mid-batch"
_FAILED = "tried again, though it had been taken: "
_VARYING = re.compile(r"[0-9a-f]*\d[0-9a-f.:]*|'[^']*'|\"[^\"]*\"")
_REASON_LENGTH = 70


class Traces:
    """What the functions said of each event, by target's ARN and trace_id."""

    def __init__(self, log: Path) -> None:
        self._delivered: dict[str, Counter[str]] = defaultdict(Counter)
        self._retried: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for line in _lines(log):
            for step in read_steps(line):
                if step.kind == "delivered":
                    self._delivered[line.target][step.event] += 1
                elif step.kind == "retried":
                    self._retried[line.target][step.event].append(step.reason)

    def delivered(self, target: str) -> Counter[str]:
        """How often the function said of each event that it delivered it."""
        return self._delivered[target]

    def causes(self, target: str, trace_id: str, copies: int, sent: int) -> Iterator[str]:
        """The cause of each copy but the first; `sent` is how often its message was sent."""
        unfinished = copies - 1
        delivered = self._delivered[target][trace_id]
        reasons = self._retried[target].get(trace_id, [])
        found = [SENT_TWICE] * (sent - 1)
        found += [DELIVERED_TWICE] * max(0, delivered - sent)
        found += [_FAILED + _plain(each) for each in reversed(reasons)]
        found += [NEVER_ENDED] * unfinished
        return iter(found[:unfinished])


def _lines(log: Path) -> Iterator[tracing.Dispatched]:
    with log.open(encoding="utf-8", errors="replace") as lines:
        for text in lines:
            if text.startswith('{"trace":"dispatched"'):
                line = tracing.read(text)
                if isinstance(line, tracing.Dispatched):
                    yield line


def _plain(reason: str) -> str:
    """A reason without what is different each time."""
    return _VARYING.sub("…", reason)[:_REASON_LENGTH]
