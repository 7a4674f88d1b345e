"""A line through the CPU seconds of several sizes."""

import statistics
from collections.abc import Mapping


def fit(measured: Mapping[float, float]) -> tuple[float, float]:
    """Fit CPU seconds by millions of rows, three or more, and print the line and how far off it is.

    The error of what lies beyond the sizes is that of the largest as the others predict it. Return
    the seconds at no rows, and those of a million.
    """
    sizes = sorted(measured)
    slope, start = statistics.linear_regression(sizes, [measured[size] for size in sizes])
    worst = max(abs(start + slope * size - measured[size]) / measured[size] for size in sizes)
    *others, largest = sizes
    line = statistics.linear_regression(others, [measured[size] for size in others])
    predicted = (line.intercept + line.slope * largest) / measured[largest]
    print(
        f"CPU s = {start:.1f} + {slope:.2f} per million rows, at most {worst:.0%} off; the others "
        f"predict {predicted:.2f} of {largest:g} M"
    )
    return start, slope
