"""What a run prints at its end, and keeps: one section of Markdown."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.chaos.run import Result

SAMPLES = 5
"""How many keys are named of what is lost or wrong."""


def markdown(result: Result) -> str:
    """The whole section."""
    return "\n".join(_lines(result)) + "\n"


def _lines(result: Result) -> Iterator[str]:
    plan, verdict = result.plan, result.verdict
    lost = sum(map(len, verdict.lost.values()))
    wrong = sum(map(len, verdict.wrong.values()))
    seconds = result.loading + result.settling
    real = sum(each.events for worker in plan.real for each in worker)
    yield f"## {plan.events:,} events, seed {plan.seed}: {lost} lost, {wrong} wrong"
    yield ""
    yield (
        f"{real:,} events of real operations on S3 and {plan.events - real:,} injected ones in"
        f" {len(plan.made.sends):,} messages, each to ten targets: sent in {result.loading:.0f} s,"
        f" all there after {result.settling:.0f} s more ({plan.events / seconds:.0f} events/s,"
        f" {10 * plan.events / seconds:.0f} deliveries/s), judged in"
        f" {result.judging:.0f} s. The local AWS itself used {result.emulator:.0f} s of processor."
    )
    yield ""
    yield from _faults(result)
    yield ""
    yield "| target | arrived | buried | came again | why |"
    yield "|---|---|---|---|---|"
    for name, buried in sorted(verdict.buried.items()):
        causes = verdict.repeats.get(name, Counter())
        again = str(causes.total()) if name in verdict.repeats else ""
        why = "; ".join(f"{count}: {cause}" for cause, count in causes.most_common())
        yield f"| {name} | {verdict.arrived.get(name, '')} | {buried} | {again} | {why} |"
    for what, found in (("LOST", verdict.lost), ("WRONG", verdict.wrong)):
        for whom, which in found.items():
            yield ""
            yield f"{what} at {whom}: {len(which)}, first: {'; '.join(which[:SAMPLES])}"


def _faults(result: Result) -> Iterator[str]:
    seconds: dict[str, list[float]] = defaultdict(list)
    details: dict[str, list[str]] = defaultdict(list)
    for each in result.faults:
        seconds[each.fault.what].append(each.ended - each.began)
        details[each.fault.what].append(each.detail)
    yield "| what broke | how often | seconds each | |"
    yield "|---|---|---|---|"
    for what, took in sorted(seconds.items()):
        span = f"{min(took):.1f} to {max(took):.1f}"
        yield f"| {what} | {len(took)} | {span} | {_sum(details[what])} |"


def _sum(details: list[str]) -> str:
    """Add up the numbers that stand in the same text."""
    sums: dict[str, list[int]] = {}
    for each in filter(None, details):
        words = each.split()
        numbers = [int(word) for word in words if word.isdecimal()]
        form = " ".join("{}" if word.isdecimal() else word for word in words)
        before = sums.setdefault(form, [0] * len(numbers))
        sums[form] = [a + b for a, b in zip(before, numbers, strict=True)]
    return "; ".join(form.format(*numbers) for form, numbers in sums.items())
