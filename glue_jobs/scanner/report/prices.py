"""What storage costs a month, by its class.

Source: what guides told in March 2026 of Amazon S3 in us-east-1, first tier; look at Amazon's own
list before you decide by it. Other regions differ by 10 to 30 per cent. What depends on more than
bytes is left out: the least size and duration that colder classes bill, their overhead for an
object, and requests. INTELLIGENT_TIERING counts as if all of it was read often, which is the most
that it can cost.
"""

from collections.abc import Mapping
from typing import Final

SOURCE: Final = "Amazon S3 in us-east-1, first tier, March 2026"
_GB: Final = 1 << 30
_STANDARD: Final = "STANDARD"
PRICES: Final[Mapping[str, float]] = {
    _STANDARD: 0.023,
    "INTELLIGENT_TIERING": 0.023,
    "REDUCED_REDUNDANCY": 0.024,
    "STANDARD_IA": 0.0125,
    "ONEZONE_IA": 0.01,
    "GLACIER_IR": 0.004,
    "GLACIER": 0.0036,
    "DEEP_ARCHIVE": 0.00099,
    "EXPRESS_ONEZONE": 0.11,
}
"""US dollars a GB and month; S3 bills a GB as 2³⁰ bytes."""


def a_month(size: int, storage_class: str | None) -> float:
    """US dollars for these bytes; a class that nobody knows, or said, costs what STANDARD does."""
    return size / _GB * PRICES.get(storage_class or _STANDARD, PRICES[_STANDARD])
