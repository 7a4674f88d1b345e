"""Two pictures: delay, and dollars a million events, by events a second."""

import math
from collections.abc import Callable
from typing import Final

from benchmarks.scale.model import Case, dollars_and_calls, flow
from benchmarks.scale.page import KINDS, READS, met

WIDTH, HEIGHT, LEFT, LEGEND = 560, 240, 60, 150
COLOURS: Final = dict(zip(KINDS, ("#1b6ca8", "#7fb3d9", "#b8541b", "#e5a97f"), strict=True))
_STEPS: Final = tuple(10 ** (number / 4) for number in range(21))


def pictures() -> dict[str, str]:
    """Return the pictures by the names of their files."""
    delay = _picture("p99 of the delay, s", lambda case: flow(case).delay(0.99), (0.1, 1, 10))
    cost = _picture(
        "$ a million events",
        lambda case: dollars_and_calls(case)[0] / case.rate / 86_400 * 1_000_000,
        (0.1, 1, 10, 100),
    )
    return {"scale-delay.svg": delay, "scale-cost.svg": cost}


def _picture(title: str, of: Callable[[Case], float], marks: tuple[float, ...]) -> str:
    """Return one as SVG, with logarithmic axes."""
    low, high = math.log10(marks[0]) - 0.1, math.log10(marks[-1]) + 0.1

    def x(rate: float) -> float:
        return LEFT + math.log10(rate) / 5 * (WIDTH - LEFT - LEGEND)

    def y(value: float) -> float:
        return HEIGHT - 30 - (math.log10(value) - low) / (high - low) * (HEIGHT - 60)

    lines = [f'<text x="8" y="16">{title}</text>']
    lines += [
        f'<text x="{x(rate):.0f}" y="{HEIGHT - 8}" text-anchor="middle">{rate:,}</text>'
        for rate in (1, 10, 100, 1_000, 10_000, 100_000)
    ]
    for mark in marks:
        at = f"{y(mark):.0f}"
        lines.append(f'<path d="M{LEFT} {at}H{WIDTH - LEGEND}" stroke="#ccc"/>')
        lines.append(f'<text x="{LEFT - 6}" y="{at}" text-anchor="end">{mark:g}</text>')
    for number, ((window, targets), colour) in enumerate(COLOURS.items()):
        cases = [Case(rate, targets, window) for rate in _STEPS]
        works = [case for case in cases if READS not in {limit.name for limit in met(case)}]
        points = " ".join(f"{x(case.rate):.0f},{y(of(case)):.0f}" for case in works)
        lines.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
        name = f"{cases[0].profile}, {targets}"
        lines.append(
            f'<text x="{WIDTH - LEGEND + 12}" y="{40 + 18 * number}" fill="{colour}">{name}</text>'
        )
    text = "\n".join(lines)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="sans-serif" font-size="12">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>\n{text}\n</svg>\n'
    )
