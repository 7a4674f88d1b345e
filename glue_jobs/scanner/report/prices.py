"""Monthly storage prices by storage class.

Source: published guides of March 2026 for Amazon S3 in us-east-1, first tier; check Amazon's own
list before you rely on it. Other regions differ by 10 to 30 per cent. Costs that depend on more
than bytes are left out: minimum sizes and durations of colder classes, their overhead per object,
and requests. INTELLIGENT_TIERING counts as frequently read, which is the most that it can cost.
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
    """Return US dollars for these bytes; an unknown or missing class costs as STANDARD."""
    return size / _GB * PRICES.get(storage_class or _STANDARD, PRICES[_STANDARD])
