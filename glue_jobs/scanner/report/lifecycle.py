"""A lifecycle rule that would end a finding, or what to do where none can.

Source: PutBucketLifecycleConfiguration in the API reference of Amazon S3. A rule is given as the
whole configuration, since that is what the call takes.
"""

import hashlib
from dataclasses import dataclass
from typing import Any, Final

from glue_jobs.scanner.report.finding import Finding, Why
from glue_jobs.scanner.report.why import AGES

_DAYS: Final = (90, 30, 7, 1)
"""How long noncurrent versions may stay, the mildest first."""
_KEEP: Final = 10
"""So many noncurrent versions stay however old they are, if the threshold leaves room for them."""


@dataclass(frozen=True, slots=True)
class Advice:
    """What a person can do; `rule` is None where no lifecycle rule would be right."""

    text: str
    rule: dict[str, Any] | None = None


def advice(finding: Finding, threshold: int) -> Advice:
    """What would bring the finding below the threshold of its kind."""
    why = finding.why or Why()
    if finding.kind == "BigPrefix":
        return Advice(
            "A lifecycle rule removes objects by age, and does not make a prefix smaller as long "
            "as it is filled. Spread the sub-folders over a level more, for example by date or by "
            "the first letters of a hash; where they are partitions of a table, use fewer and "
            "larger ones. Tools that list folder by folder slow down with their number."
        )
    if not why.old_versions:
        return Advice(
            "Only the current version is there, so that no rule about noncurrent versions frees "
            "anything. A transition to a colder storage class makes it cheaper."
        )
    keep = _kept(finding, why, threshold)
    days = next((days for days in _DAYS if _left(finding, why, days, keep) <= threshold), 1)
    return Advice(
        f"Noncurrent versions go {days} {'day' if days == 1 else 'days'} after they were replaced"
        + (f"; the newest {keep} of them stay." if keep else ".")
        + " The prefix is this very key, and also covers keys that begin with it.",
        _configuration(finding, days, keep),
    )


def _kept(finding: Finding, why: Why, threshold: int) -> int:
    """How many noncurrent versions can stay for ever, beside the current one."""
    if finding.kind == "ManyVersions":
        return max(0, min(_KEEP, threshold - 1))
    each = max(1, why.bytes // max(1, why.versions))
    return max(0, min(_KEEP, (threshold - 1) // each - 1))


def _left(finding: Finding, why: Why, days: int, keep: int) -> int:
    """What is left under such a rule, of what the threshold counts; at least about."""
    young = {name for name, until in AGES if until <= days}
    versions = sum(share.versions for share in why.old_ages if share.name in young)
    size = sum(share.bytes for share in why.old_ages if share.name in young)
    current = why.versions - why.old_versions
    if finding.kind == "ManyVersions":
        return current + max(versions, min(keep, why.old_versions))
    each = why.old_bytes // max(1, why.old_versions)
    # A finding by bytes begins at its threshold, not beyond.
    return why.bytes - why.old_bytes + max(size, min(keep, why.old_versions) * each) + 1


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
