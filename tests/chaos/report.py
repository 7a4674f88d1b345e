"""The report of a run: one section of Markdown."""

from collections import Counter
from collections.abc import Iterator

from tests.chaos.run import Result

SAMPLES = 5
"""The number of lost or wrong keys that are shown."""


def markdown(result: Result) -> str:
    """Return the section."""
    return "\n".join(_lines(result)) + "\n"


def _lines(result: Result) -> Iterator[str]:
    plan, verdict = result.plan, result.verdict
    lost = sum(map(len, verdict.lost.values()))
    wrong = sum(map(len, verdict.wrong.values()))
    yield f"## {plan.events:,} events, seed {plan.seed}: {lost} lost, {wrong} wrong"
    yield ""
    yield (
        f"Sent to each target in {result.loading:.0f} s, all there after {result.settling:.0f} s"
        f" more, judged in {result.judging:.0f} s."
    )
    yield ""
    yield "| what broke | how often |"
    yield "|---|---|"
    for kind, count in sorted(Counter(fault.kind for fault in result.faults).items()):
        yield f"| {kind} | {count} |"
    yield f"| functions' processes killed | {result.killed} |"
    yield ""
    yield "| target | arrived | dead letters | came again |"
    yield "|---|---|---|---|"
    for name, dead_letters in sorted(verdict.dead_letters.items()):
        repeats = verdict.repeats.get(name, "")
        yield f"| {name} | {verdict.arrived.get(name, '')} | {dead_letters} | {repeats} |"
    for title, findings in (("LOST", verdict.lost), ("WRONG", verdict.wrong)):
        for target, entries in findings.items():
            yield ""
            yield f"{title} at {target}: {len(entries)}, first: {'; '.join(entries[:SAMPLES])}"
