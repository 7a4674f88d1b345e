"""How much goes into a call."""

from bucketcast.errors import Rejected

EVENTS_A_CALL = 250
"""Few enough that other users of the server wait some ms only, and Lua's stack of 8,000 holds."""
LARGEST_VALUE = 512 * 1024 * 1024 - 1024 * 1024
"""Redis takes a command's argument up to 512 MB."""


def fitting(value: bytes) -> bytes:
    """Return the value itself.

    Raises:
        Rejected: it is larger than Redis takes.
    """
    if len(value) > LARGEST_VALUE:
        raise Rejected(f"the event takes {len(value)} bytes; Redis takes {LARGEST_VALUE}")
    return value
