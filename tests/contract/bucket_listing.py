"""What a mirror of a bucket has to show, and where its rows are wrong."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tests.contract.bucket import NULL, Bucket, Happened
from tests.contract.bucket_records import Dialect, unreported
from tests.contract.case import record_of


class VisibleObject(NamedTuple):
    """What a mirror has to show of an object."""

    version: str
    etag: str
    size: int


def shown_by(body: bytes) -> VisibleObject:
    """Return what a row's record shows."""
    found = record_of(body)["s3"]["object"]
    return VisibleObject(
        found.get("versionId") or NULL, found.get("eTag", ""), found.get("size", 0)
    )


def listed(bucket: Bucket) -> dict[str, VisibleObject]:
    """Return what the listing has of each key."""
    return {
        key: VisibleObject(version.id, version.etag, version.size)
        for key, version in bucket.listing().items()
    }


def wrong(
    rows: Mapping[str, VisibleObject], bucket: Bucket, dialect: Dialect, history: Sequence[Happened]
) -> dict[str, tuple[VisibleObject | None, VisibleObject | None]]:
    """Return, by key, the row and the listed object where they differ and should not.

    What came to the surface when a version or a marker above it was removed by its id, no event
    tells: such a key has no row, or the right one. `unreported` has the few quirks beside that.
    """
    listing, too_little = listed(bucket), unreported(dialect, history)
    may_be_absent = bucket.surfaced | too_little.may_be_absent
    return {
        key: (rows.get(key), listing.get(key))
        for key in (rows.keys() | listing.keys()) - too_little.may_be_stale
        if rows.get(key) != listing.get(key) and (key in rows or key not in may_be_absent)
    }
