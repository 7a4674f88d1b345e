"""What a scan has seen of its bucket, and so may alert or clear: one decision, on plain values.

Sources differ in age and reach, and scans in their thresholds: a report may arrive days after the
listing of the bucket was scanned, and may list one prefix or current versions only. An unchanged
bucket must be alerted once and never cleared, whichever of them are scanned in turns.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import msgspec

from bucketcast.errors import BucketcastError
from bucketcast.event.scanner import KINDS
from bucketcast.settings.pipeline import Alerts
from glue_jobs.listing.schema import Listing, unix_ms


class Detail(NamedTuple):
    """How much of a count a source shows, the greater the more: old versions, and all keys.

    All keys are shown only where the reach is known.
    """

    versions: bool
    known: bool


class Coverage(msgspec.Struct, frozen=True):
    """Findings beyond these `thresholds`, by kind, whose keys begin with the prefix.

    Where the reach of a report is not known it is None. `taken` is the source's time in Unix ms;
    with `versions` it lists also old ones and delete markers.
    """

    prefix: str | None
    taken: int
    versions: bool
    thresholds: dict[str, int]

    @property
    def detail(self) -> Detail:
        """How much of a count it sees."""
        return Detail(self.versions, self.prefix is not None)

    def reaches(self, key: str) -> bool:
        """Return True if it has all keys with this beginning."""
        return self.prefix is not None and key.startswith(self.prefix)

    def covers(self, kind: str, key: str) -> bool:
        """Return True if it has all of what would be such a finding."""
        return kind in self.thresholds and self.reaches(key)

    def sees(self, kind: str, other: "Coverage") -> bool:
        """Return True if it has all findings of a kind that another has of the same keys."""
        mine, others = self.thresholds.get(kind), other.thresholds[kind]
        return mine is not None and mine <= others and self.detail >= other.detail

    def includes(self, other: "Coverage") -> bool:
        """Return True if it has all findings that the other has."""
        reached = other.prefix is not None and self.reaches(other.prefix)
        return reached and all(self.sees(kind, other) for kind in other.thresholds)


def scan_finder(scans: Iterable[Coverage]) -> Callable[[str], tuple[Coverage, ...]]:
    """Return a function that finds those that reach a key, as fast among a thousand prefixes."""
    by_prefix = defaultdict[str | None, list[Coverage]](list)
    for each in scans:
        by_prefix[each.prefix].append(each)
    lengths = {len(prefix) for prefix in by_prefix if prefix is not None}

    def find(key: str) -> tuple[Coverage, ...]:
        return tuple(each for length in lengths for each in by_prefix.get(key[:length], ()))

    return find


class Seen(NamedTuple):
    """How the open alert of a finding was seen until now: at most, and last."""

    threshold: int
    detail: Detail
    taken: int


class Allowed(NamedTuple):
    """What a scan may do with a finding: alert it, alert its growth, say that it is gone."""

    alert: bool
    growth: bool
    clear: bool


def allow(
    kind: str, key: str, now: Coverage, later: Iterable[Coverage], seen: Seen | None
) -> Allowed:
    """Say what a scan may do with a finding, one of its own or an earlier one.

    `later` are earlier scans of later sources, `seen` is None without an open alert. What one of
    them decided stays. Of a bucket that may have only been seen better before, nothing is gone, and
    a count that is seen better now has not grown.
    """
    if kind not in now.thresholds:
        return Allowed(alert=False, growth=False, clear=False)
    decided = any(each.covers(kind, key) and each.sees(kind, now) for each in later)
    covered = now.covers(kind, key)
    alert = not decided and (covered or now.prefix is None)
    if seen is None:
        return Allowed(alert, growth=False, clear=False)
    current = covered and not decided and now.taken >= seen.taken
    # Of one key a reach that is not known counts alike.
    is_comparable = now.versions == seen.detail.versions and (
        seen.detail.known or KINDS[kind].limits != "folders"
    )
    return Allowed(
        alert,
        growth=current and is_comparable,
        clear=current and now.detail >= seen.detail and now.thresholds[kind] <= seen.threshold,
    )


class Filter(msgspec.Struct, frozen=True):
    """The prefix that all scans found in a configuration of reports; the first was at `since`.

    The time is in Unix ms.
    """

    prefix: str
    since: int


def check_filter(
    content: Listing, earlier: Mapping[str, Filter], at: int
) -> tuple[Listing, Mapping[str, Filter]]:
    """Return a source, of unknown reach if its filter may be newer, and all filters found so far.

    S3 tells the filter of now (`at`) and not when it was set, so that of a report is known only if
    an earlier scan than the report has found the same. `earlier` are by the configuration's id.
    """
    if not content.report or content.prefix is None:
        return content, earlier
    known = earlier.get(content.report)
    if known is None or known.prefix != content.prefix:
        known = Filter(content.prefix, at)
    if unix_ms(content.taken) < known.since:
        note = (
            f"The filter of {content.report} may have changed since this report, before which no "
            "scan has seen it, so nothing counts as gone."
        )
        content = replace(content, prefix=None, notes=(*content.notes, note))
    return content, {**earlier, content.report: known}


def cover(content: Listing, settings: Alerts) -> Coverage:
    """Return what a scan with these options sees of a source.

    Raises:
        BucketcastError: the source lists no keys with the prefix.
    """
    prefix, has = settings.prefix, content.prefix
    if has is not None and not (prefix.startswith(has) or has.startswith(prefix)):
        raise BucketcastError(f"--prefix: found {prefix!r}, but {content.name} lists only {has}")
    reach = None if has is None else max(prefix, has, key=len)
    listed = {"folders"}
    if content.versions:
        listed |= {"versions", "bytes"} if content.sizes else {"versions"}
    thresholds = {
        name: getattr(settings, kind.option)
        for name, kind in KINDS.items()
        if kind.limits in listed
    }
    return Coverage(reach, unix_ms(content.taken), content.versions, thresholds)


def add(earlier: Sequence[Coverage], now: Coverage) -> tuple[Coverage, ...]:
    """Return what scans have seen after this one, without what it replaces."""
    if now.prefix is None:
        return tuple(earlier)
    kept = (each for each in earlier if each.taken > now.taken or not now.includes(each))
    return (*kept, now)
