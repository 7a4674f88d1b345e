"""Times as the commands print them; all are given in Unix ms."""

from datetime import UTC, datetime

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


def clock(ms: int) -> str:
    """Return a time in UTC with its milliseconds, "" for 0."""
    if not ms:
        return ""
    time = datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")
    return time.removesuffix("+00:00") + "Z"


def moment(ms: int) -> str:
    """Return a time as `2026-01-31T12:00:00Z`."""
    return f"{datetime.fromtimestamp(ms / 1_000, UTC):%Y-%m-%dT%H:%M:%SZ}"


def moment_or_none(ms: int) -> str | None:
    """Return a time as `moment` does, None for 0."""
    return moment(ms) if ms else None


def age(ms: int, now: int) -> str:
    """Return the age of a time, such as 40s, 12m, 5h or 3d."""
    seconds = max(0, (now - ms) // 1_000)
    for unit, name in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m")):
        if seconds >= unit:
            return f"{seconds // unit}{name}"
    return f"{seconds}s"
