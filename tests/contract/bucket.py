"""A bucket as Amazon S3 and MinIO keep it: what a mirror of it has to show is its listing.

It knows nothing of registers, guards or rows. Operations change it as they would change a real
bucket, whose versioning is off, on or suspended, and tell what happened; `bucket_records` has how
each source says so. A time is a whole number that grows by one with each operation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

NULL = "null"


class What(StrEnum):
    """What may happen; of each a source has one record, or none."""

    PUT = "put"
    POST = "post"
    COPY = "copy"
    MULTIPART = "multipart"
    DELETED = "deleted"
    MARKED = "marked"
    REMOVED = "a version removed by its id"
    UNMARKED = "a marker removed by its id"
    NOTHING = "a removal of nothing"
    EXPIRED = "expired by lifecycle"
    EXPIRED_MARKED = "expired by lifecycle, which leaves a marker"
    EXPIRED_OLDER = "an older version expired by lifecycle"
    TAGGED = "tagged"
    UNTAGGED = "untagged"
    RETAINED = "retained"
    ON_HOLD = "held"
    MOVED = "moved to another storage class"
    READ = "read"


CREATIONS = (What.PUT, What.POST, What.COPY, What.MULTIPART)
CHANGES = (What.TAGGED, What.UNTAGGED, What.RETAINED, What.ON_HOLD, What.MOVED, What.READ)
"""What happens to a version that stays what it is."""


@dataclass(frozen=True)
class Version:
    """A version of a key, or a delete marker, made at a time by an operation."""

    id: str
    made: int
    how: What
    size: int = 0
    etag: str = ""

    @property
    def is_marker(self) -> bool:
        return self.how in (What.MARKED, What.EXPIRED_MARKED)


@dataclass(frozen=True)
class Happened:
    """What happened to which version, and when.

    `named` is the version's id where S3 names one: not for what never had versions, nor for a
    removal that asked for none and left no marker.
    """

    what: What
    key: str
    at: int
    about: Version
    named: str | None


@dataclass
class Bucket:
    """Its versions of each key, the current one last.

    `surfaced` are keys whose current version is what was under one, or under a marker, that was
    removed by its id: no event says so.
    """

    keys: dict[str, list[Version]] = field(default_factory=dict)
    versioning: str = "off"
    now: int = 0
    surfaced: set[str] = field(default_factory=set)

    def listing(self) -> dict[str, Version]:
        """What a listing shows: the current version of each key, unless it is a marker."""
        current = {key: versions[-1] for key, versions in self.keys.items() if versions}
        return {key: version for key, version in current.items() if not version.is_marker}

    def version_at(self, key: str, index: int) -> Version | None:
        """Some version of a key, by a number of any size."""
        versions = self.keys.get(key)
        return versions[index % len(versions)] if versions else None

    def set_versioning(self) -> None:
        """Switch it on; suspend it; it is never off again."""
        self.versioning = "suspended" if self.versioning == "on" else "on"

    def create(self, key: str, how: What, size: int) -> Happened:
        self.now += 1
        version = Version(self._next_id(), self.now, how, size, f"{self.now:032x}")
        self._put_on_top(key, version)
        return Happened(how, key, self.now, version, self._named(version))

    def delete(self, key: str, *, by_lifecycle: bool = False) -> Happened:
        """Delete without a version: the current one goes, or goes under a marker."""
        self.now += 1
        versions = self.keys.get(key, [])
        if self.versioning == "off":
            if not versions:
                return Happened(What.NOTHING, key, self.now, Version("", self.now, What.PUT), None)
            what = What.EXPIRED if by_lifecycle else What.DELETED
            return Happened(what, key, self.now, versions.pop(), None)
        what = What.EXPIRED_MARKED if by_lifecycle else What.MARKED
        marker = Version(self._next_id(), self.now, what)
        self._put_on_top(key, marker)
        return Happened(what, key, self.now, marker, marker.id)

    def remove(self, key: str, version: Version, *, by_lifecycle: bool = False) -> Happened:
        """Remove one version, or a marker, by its id."""
        self.now += 1
        versions = self.keys[key]
        was_current = versions[-1] == version
        versions.remove(version)
        if was_current and versions:
            self.surfaced.add(key)
        if version.is_marker:
            what = What.UNMARKED
        else:
            what = What.EXPIRED_OLDER if by_lifecycle else What.REMOVED
        return Happened(what, key, self.now, version, version.id)

    def change(self, key: str, version: Version, what: What) -> Happened:
        """Something happens to a version that stays what it is."""
        self.now += 1
        return Happened(what, key, self.now, version, self._named(version))

    def _next_id(self) -> str:
        return f"v{self.now:06}" if self.versioning == "on" else NULL

    def _named(self, version: Version) -> str | None:
        return None if self.versioning == "off" else version.id

    def _put_on_top(self, key: str, version: Version) -> None:
        """There is but one "null": the new one replaces the old."""
        versions = self.keys.setdefault(key, [])
        if version.id == NULL:
            versions[:] = [each for each in versions if each.id != NULL]
        versions.append(version)
        self.surfaced.discard(key)


Step = tuple[str, str, int]
"""What to do, with which key, and a number that says the rest."""
STEPS = ("create", "delete", "remove", "change", "expire", "expire older", "versioning")


def perform(bucket: Bucket, steps: Sequence[Step]) -> list[Happened]:
    """Take these steps, leaving out those that cannot be taken."""
    found = (_step(bucket, *step) for step in steps)
    return [each for each in found if each]


def _step(bucket: Bucket, step: str, key: str, number: int) -> Happened | None:
    if step == "versioning":
        bucket.set_versioning()
    elif step == "create":
        return bucket.create(key, CREATIONS[number % len(CREATIONS)], number % 7)
    elif step == "delete":
        return bucket.delete(key)
    elif version := bucket.version_at(key, number):
        return _step_with(bucket, step, key, version, number)
    return None


def _step_with(
    bucket: Bucket, step: str, key: str, version: Version, number: int
) -> Happened | None:
    """A step that is about some version of the key."""
    current = bucket.keys[key][-1]
    if step == "remove" and bucket.versioning != "off":
        return bucket.remove(key, version)
    if step == "change" and not version.is_marker:
        return bucket.change(key, version, CHANGES[number % len(CHANGES)])
    if step == "expire" and not current.is_marker:
        return bucket.delete(key, by_lifecycle=True)
    if step == "expire older" and version != current:
        return bucket.remove(key, version, by_lifecycle=True)
    return None
