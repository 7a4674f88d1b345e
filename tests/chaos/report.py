"""The report of a run: one section of Markdown."""

from collections import Counter, defaultdict
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
    seconds = result.loading + result.settling
    real = sum(operation.events for worker in plan.real for operation in worker)
    yield f"## {plan.events:,} events, seed {plan.seed}: {lost} lost, {wrong} wrong"
    yield ""
    yield (
        f"{real:,} events of real operations on S3 and {plan.events - real:,} injected ones in"
        f" {len(plan.injected.sends):,} messages, each to ten targets: sent in"
        f" {result.loading:.0f} s, all there after {result.settling:.0f} s more"
        f" ({plan.events / seconds:.0f} events/s, {10 * plan.events / seconds:.0f} deliveries/s),"
        f" judged in {result.judging:.0f} s. The local AWS itself used {result.emulator:.0f} s of"
        " processor."
    )
    yield ""
    yield from _faults(result)
    yield ""
    yield "| target | arrived | dead letters | repeated | why |"
    yield "|---|---|---|---|---|"
    for name, dead_letters in sorted(verdict.dead_letters.items()):
        causes = verdict.repeats.get(name, Counter())
        count = str(causes.total()) if name in verdict.repeats else ""
        reasons = "; ".join(f"{times}: {cause}" for cause, times in causes.most_common())
        arrived = verdict.arrived.get(name, "")
        yield f"| {name} | {arrived} | {dead_letters} | {count} | {reasons} |"
    for title, findings in (("LOST", verdict.lost), ("WRONG", verdict.wrong)):
        for target, entries in findings.items():
            yield ""
            yield f"{title} at {target}: {len(entries)}, first: {'; '.join(entries[:SAMPLES])}"


def _faults(result: Result) -> Iterator[str]:
    seconds: dict[str, list[float]] = defaultdict(list)
    details: dict[str, list[str]] = defaultdict(list)
    for done in result.faults:
        seconds[done.fault.kind].append(done.ended - done.began)
        details[done.fault.kind].append(done.detail)
    yield "| what broke | how often | seconds each | |"
    yield "|---|---|---|---|"
    for kind, durations in sorted(seconds.items()):
        span = f"{min(durations):.1f} to {max(durations):.1f}"
        yield f"| {kind} | {len(durations)} | {span} | {_sum(details[kind])} |"


def _sum(details: list[str]) -> str:
    """Add up the numbers of equal texts."""
    sums: dict[str, list[int]] = {}
    for detail in filter(None, details):
        words = detail.split()
        numbers = [int(word) for word in words if word.isdecimal()]
        form = " ".join("{}" if word.isdecimal() else word for word in words)
        before = sums.setdefault(form, [0] * len(numbers))
        sums[form] = [a + b for a, b in zip(before, numbers, strict=True)]
    return "; ".join(form.format(*numbers) for form, numbers in sums.items())
