"""What the functions' own traces say of a run."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

from bucketcast.delivery import tracing
from bucketcast.diagnose.steps import read_steps


def delivered(log: Path) -> Mapping[str, Counter[str]]:
    """Return how often the functions said of each event that they delivered it, by target's ARN."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    with log.open(encoding="utf-8", errors="replace") as lines:
        for text in lines:
            line = tracing.read(text) if text.startswith('{"trace":"dispatched"') else None
            if isinstance(line, tracing.Dispatched):
                steps = read_steps(line)
                found[line.target].update(one.event for one in steps if one.kind == "delivered")
    return found
