"""Format numbers, sizes and keys for people."""

from typing import Final

EVERYTHING: Final = "(the whole bucket)"
"""How the key of the bucket itself, "", is shown."""
_UNITS: Final = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_STEP: Final = 1_024
_CENT: Final = 0.01


def size(number: int) -> str:
    """Format a size: 1536 is `1.5 KiB`."""
    amount, unit = float(number), 0
    while amount >= _STEP and unit < len(_UNITS) - 1:
        amount, unit = amount / _STEP, unit + 1
    return f"{amount:,.1f} {_UNITS[unit]}" if unit else f"{number} {_UNITS[0]}"


def dollars(amount: float) -> str:
    """Format an amount: `$1,234.50`, or `under $0.01` for what would round to zero."""
    return "under $0.01" if 0 < amount < _CENT else f"${amount:,.2f}"
