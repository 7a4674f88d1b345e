"""The tables of docs/scale.md, from the model alone."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from benchmarks.scale.model import Case, Limit, dollars_and_calls, flow, limits
from benchmarks.scale.situations import backlogs, costs
from bucketcast.terminal.output import plain

A_BILLION: Final = 11_600
"""Events a second: a billion a day, rounded up."""
RATES: Final = (1, 100, 1_000, 10_000, A_BILLION, 100_000)
KINDS: Final = tuple((window, targets) for window in (0, 1) for targets in (1, 10))
CASES: Final = tuple(Case(rate, targets, window) for window, targets in KINDS for rate in RATES)
READS: Final = "reads of an item with rules"
_COLUMNS: Final = ("DELAY", "EXECUTIONS", "CALLS", "$/DAY", "MET")
_BLOCK: Final = re.compile(r"```text\n[^`]*```")


def page(text: str) -> str:
    """Return the page with the tables of today."""
    names = dict(zip((limit.name for limit in limits(1, 0)), "abcdefg", strict=True))
    kinds = (f"{Case(0, targets, window).profile}, {targets}" for window, targets in KINDS)
    many = [
        (each.what, f"{each.reads:.0f}", f"{each.milliseconds:.2f}", f"{each.dollars:.2f}")
        for each in costs()
    ]
    waiting = [
        (each.where, str(each.executions), f"{each.hours:.1f}", f"{each.dollars:.0f}")
        for each in backlogs()
    ]
    tables = iter(
        (
            "\n".join(_steady(targets, window, names) for window, targets in KINDS),
            plain(("MET", *kinds, "LIFTED BY"), [*_limits(names)]),
            plain(("WAITS IN", "EXECUTIONS", "HOURS", "$"), waiting),
            plain(("MANY", "UNITS", "MS", "$ A MILLION"), many),
        )
    )
    return _BLOCK.sub(lambda _: f"```text\n{next(tables)}\n```", text)


def met(case: Case) -> Sequence[Limit]:
    """Return the limits that are met at a rate, the first first."""
    return [limit for limit in limits(case.targets, case.window) if limit.rate < case.rate]


def _steady(targets: int, window: int, names: Mapping[str, str]) -> str:
    cases = [Case(rate, targets, window) for rate in RATES]
    columns = (f"{cases[0].profile}, {targets}", *_COLUMNS)
    rows = [_row(case, names) for case in cases if targets == 1 or case.rate != A_BILLION]
    return plain(columns, rows)


def _row(case: Case, names: Mapping[str, str]) -> Sequence[str]:
    hops, (dollars, calls) = flow(case), dollars_and_calls(case)
    found = [limit.name for limit in met(case)]
    delay = "-".join(f"{hops.delay(part):.2f}" for part in (0.5, 0.99))
    return (
        *(f"{case.rate:,}/s", "none" if READS in found else delay),
        f"{hops.ingest.pollers}+{hops.dispatch.pollers}",
        *(f"{calls:.1f}", f"{dollars:,.2f}", "".join(names[name] for name in found)),
    )


def _limits(names: Mapping[str, str]) -> Iterator[Sequence[str]]:
    by_kind = [
        {limit.name: limit for limit in limits(targets, window)} for window, targets in KINDS
    ]
    for name, letter in names.items():
        rates = [_rounded(found[name].rate) for found in by_kind]
        yield f"{letter} {name}", *rates, by_kind[0][name].line


def _rounded(rate: float) -> str:
    return f"{float(f'{rate:.2g}'):,.0f}"
