"""This machine's clock against AWS's."""

from bucketcast.doctor import Finding

CHECK = "clock"
_WARN_SECONDS, _ERROR_SECONDS = 30, 240
"""AWS refuses requests that were signed more than five minutes off."""


def clock(local: float, aws: float) -> Finding:
    """Check two readings of the same moment, in Unix seconds; AWS's has whole seconds only."""
    off = local - aws
    if abs(off) < _WARN_SECONDS:
        return Finding(CHECK, "this machine", "ok", "agrees with AWS's clock")
    found = f"{abs(off):,.0f} s {'ahead of' if off > 0 else 'behind'} AWS's clock"
    return Finding(
        CHECK,
        "this machine",
        "error" if abs(off) > _ERROR_SECONDS else "warn",
        found,
        "set the clock, best by NTP: AWS refuses requests that are five minutes off",
        "sudo timedatectl set-ntp true",
    )
