"""Advise on a finding: a lifecycle rule that would end it, or what else to do.

Source: PutBucketLifecycleConfiguration in the API reference of Amazon S3. A rule is given as the
whole configuration, since that is what the call takes.
"""

import hashlib
from dataclasses import dataclass
from typing import Any, Final

from glue_jobs.scanner.report.breakdown import AGES
from glue_jobs.scanner.report.finding import Breakdown, Finding

_DAYS: Final = (90, 30, 7, 1)
"""How many days noncurrent versions may stay, the mildest first."""
_KEEP: Final = 10
"""How many noncurrent versions stay at any age, if the threshold leaves room for them."""


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do about a finding; `rule` is None where no lifecycle rule fits."""

    text: str
    rule: dict[str, Any] | None = None


def advice(finding: Finding, threshold: int) -> Advice:
    """Return what would bring the finding below its threshold."""
    breakdown = finding.breakdown or Breakdown()
    if finding.kind == "BigPrefix":
        return Advice(
            "A lifecycle rule removes objects by age, and does not make a prefix smaller as long "
            "as it is filled. Spread the sub-folders over a level more, for example by date or by "
            "the first letters of a hash; where they are partitions of a table, use fewer and "
            "larger ones. Tools that list folder by folder slow down with their number."
        )
    if not breakdown.old_versions:
        return Advice(
            "Only the current version is there, so that no rule about noncurrent versions frees "
            "anything. A transition to a colder storage class makes it cheaper."
        )
    keep = _kept(finding, breakdown, threshold)
    days = next((days for days in _DAYS if _left(finding, breakdown, days, keep) <= threshold), 1)
    return Advice(
        f"Noncurrent versions go {days} {'day' if days == 1 else 'days'} after they were replaced"
        + (f"; the newest {keep} of them stay." if keep else ".")
        + " The prefix is this very key, and also covers keys that begin with it.",
        _configuration(finding, days, keep),
    )


def _kept(finding: Finding, breakdown: Breakdown, threshold: int) -> int:
    """Return how many noncurrent versions can stay for ever."""
    if finding.kind == "ManyVersions":
        return max(0, min(_KEEP, threshold - 1))
    each = max(1, breakdown.bytes // max(1, breakdown.versions))
    return max(0, min(_KEEP, (threshold - 1) // each - 1))


def _left(finding: Finding, breakdown: Breakdown, days: int, keep: int) -> int:
    """Estimate what such a rule leaves of what the threshold counts."""
    young = {name for name, until in AGES if until <= days}
    versions = sum(share.versions for share in breakdown.old_ages if share.name in young)
    size = sum(share.bytes for share in breakdown.old_ages if share.name in young)
    current = breakdown.versions - breakdown.old_versions
    if finding.kind == "ManyVersions":
        return current + max(versions, min(keep, breakdown.old_versions))
    each = breakdown.old_bytes // max(1, breakdown.old_versions)
    # A finding by bytes begins at its threshold, not beyond.
    return (
        breakdown.bytes
        - breakdown.old_bytes
        + max(size, min(keep, breakdown.old_versions) * each)
        + 1
    )


def _configuration(finding: Finding, days: int, keep: int) -> dict[str, Any]:
    digest = hashlib.sha256(f"{finding.kind}\0{finding.key}".encode()).hexdigest()[:12]
    expiration: dict[str, int] = {"NoncurrentDays": days}
    if keep:
        expiration["NewerNoncurrentVersions"] = keep
    rule = {
        "ID": f"bucketcast-{digest}",
        "Status": "Enabled",
        "Filter": {"Prefix": finding.key},
        "NoncurrentVersionExpiration": expiration,
        "Expiration": {"ExpiredObjectDeleteMarker": True},
    }
    return {"Rules": [rule]}
