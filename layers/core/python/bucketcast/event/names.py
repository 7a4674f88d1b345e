"""Event names: MinIO's names and families, `mc`'s words, and the names of AWS and Ceph.

Source: the public list of AIStor's bucket notifications, the enumeration of Amazon S3, and "S3
Bucket Notifications Compatibility" of Ceph. An event carries MinIO's name. A name that only AWS or
Ceph has keeps their spelling with `s3:`. If MinIO's name is less specific than the
source's, `Event.original` has the source's, and rules may use either.
"""

from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from bucketcast.errors import did_you_mean
from bucketcast.event import scanner

if TYPE_CHECKING:
    from bucketcast.event import Event

FAMILIES = MappingProxyType(
    {
        "s3:ObjectAccessed:*": ("Get", "Head", "GetRetention", "GetLegalHold", "Attributes"),
        "s3:ObjectCreated:*": (
            "CompleteMultipartUpload",
            "Copy",
            "Post",
            "Put",
            "PutRetention",
            "PutLegalHold",
            "PutTagging",
            "DeleteTagging",
        ),
        "s3:ObjectRemoved:*": ("Delete", "DeleteMarkerCreated", "NoOP", "DeleteAllVersions"),
        "s3:Replication:*": (
            "OperationFailedReplication",
            "OperationCompletedReplication",
            "OperationNotTracked",
            "OperationMissedThreshold",
            "OperationReplicatedAfterThreshold",
            # Ceph's, for objects that its multisite sync fetched: no event of S3 is one
            "Create",
            "Delete",
            "DeletionMarkerCreated",
        ),
        "s3:ObjectRestore:*": ("Post", "Completed", "Delete"),
        "s3:ObjectTransition:*": ("Failed", "Complete"),
        f"{scanner.PREFIX}*": tuple(scanner.KINDS),
        # Amazon S3's
        "s3:ObjectTagging:*": ("Put", "Delete"),
        "s3:ObjectAnnotation:*": ("Put", "Delete"),
        "s3:LifecycleExpiration:*": ("Delete", "DeleteMarkerCreated"),
        # Ceph's; of these S3 has no synced objects
        "s3:ObjectLifecycle:*": (
            "Expiration:Current",
            "Expiration:Noncurrent",
            "Expiration:DeleteMarker",
            "Expiration:AbortMultipartUpload",
            "Transition:Current",
            "Transition:Noncurrent",
        ),
        "s3:ObjectLifecycle:Expiration:*": (
            "Current",
            "Noncurrent",
            "DeleteMarker",
            "AbortMultipartUpload",
        ),
        "s3:ObjectLifecycle:Transition:*": ("Current", "Noncurrent"),
        "s3:ObjectSynced:*": ("Create", "Delete", "DeletionMarkerCreated"),
    }
)
SINGLES = frozenset(
    family.replace("*", member) for family, members in FAMILIES.items() for member in members
) | {
    "s3:LifecycleDelMarkerExpiration:Delete",
    "s3:ObjectAcl:Put",
    "s3:IntelligentTiering",
    "s3:ReducedRedundancyLostObject",
    "s3:ObjectRetention:Put",
    "s3:LifecycleTransition",
}
BUCKET_CREATED, BUCKET_REMOVED = "s3:BucketCreated:*", "s3:BucketRemoved:*"
"""Single names, star and all, as MinIO spells them; only listeners see these events."""
_SHORT = MappingProxyType(
    {
        "s3:BucketCreated": BUCKET_CREATED,
        "s3:BucketRemoved": BUCKET_REMOVED,
        "BucketCreated": BUCKET_CREATED,
        "BucketRemoved": BUCKET_REMOVED,
        "bucket-creation": BUCKET_CREATED,
        "bucket-removal": BUCKET_REMOVED,
    }
)
LISTENERS_ONLY = frozenset({*_SHORT, *_SHORT.values()})
WORDS = MappingProxyType(
    {
        "put": ("s3:ObjectCreated:*",),
        "delete": ("s3:ObjectRemoved:*",),
        "get": ("s3:ObjectAccessed:*",),
        "replica": ("s3:Replication:*",),
        "ilm": ("s3:ObjectRestore:*", "s3:ObjectTransition:*"),
        # `mc` leaves LargeVersions out, so a rule for the scanner would never match it.
        "scanner": tuple(kind.event for kind in scanner.KINDS.values()),
    }
)
REMOVALS = frozenset(
    {
        "s3:ObjectRemoved:Delete",
        "s3:ObjectRemoved:DeleteMarkerCreated",
        "s3:ObjectRemoved:DeleteAllVersions",
        "s3:LifecycleDelMarkerExpiration:Delete",
    }
)
"""After these the bucket no longer shows the object under its key."""
NOTHING_HAPPENED = "s3:ObjectRemoved:NoOP"
_CREATED = "s3:ObjectCreated:"
_NOT_CREATED = frozenset(
    _CREATED + member for member in ("PutRetention", "PutLegalHold", "PutTagging", "DeleteTagging")
)
"""MinIO counts these among the creations; the object was there before."""
_NO_CHANGES = ("s3:ObjectAccessed:", scanner.PREFIX)
"""Reads, and counts of existing objects."""

_TRANSLATED = MappingProxyType(
    {
        "s3:ObjectTagging:Put": "s3:ObjectCreated:PutTagging",
        "s3:ObjectTagging:Delete": "s3:ObjectCreated:DeleteTagging",
        "s3:ObjectRetention:Put": "s3:ObjectCreated:PutRetention",
        "s3:LifecycleExpiration:Delete": "s3:ObjectRemoved:Delete",
        "s3:LifecycleExpiration:DeleteMarkerCreated": "s3:ObjectRemoved:DeleteMarkerCreated",
        "s3:LifecycleTransition": "s3:ObjectTransition:Complete",
    }
)
"""MinIO's name by AWS's."""
_IN_AWS = MappingProxyType(
    {
        "s3:ObjectCreated:PutTagging": "s3:ObjectTagging:Put",
        "s3:ObjectCreated:DeleteTagging": "s3:ObjectTagging:Delete",
        "s3:ObjectCreated:PutRetention": "s3:ObjectRetention:Put",
        "s3:ObjectTransition:Complete": "s3:LifecycleTransition",
        "s3:LifecycleDelMarkerExpiration:Delete": "s3:LifecycleExpiration:Delete",
    }
)
"""The name in S3's enumeration by MinIO's."""
_IN_CEPH = MappingProxyType(
    {
        "s3:LifecycleExpiration:Delete": "s3:ObjectLifecycle:Expiration:Current",
        "s3:LifecycleExpiration:DeleteMarkerCreated": "s3:ObjectLifecycle:Expiration:Current",
        "s3:LifecycleDelMarkerExpiration:Delete": "s3:ObjectLifecycle:Expiration:DeleteMarker",
        "s3:ObjectTransition:Complete": "s3:ObjectLifecycle:Transition:Current",
        "s3:LifecycleTransition": "s3:ObjectLifecycle:Transition:Current",
    }
)
"""Ceph's name by that of MinIO or AWS, versions aside."""
_IN_CEPHS_TEXT = MappingProxyType(
    {
        "s3:ObjectLifecycle:Expiration:NonCurrent": "s3:ObjectLifecycle:Expiration:Noncurrent",
        "s3:ObjectLifecycle:Transition:NonCurrent": "s3:ObjectLifecycle:Transition:Noncurrent",
    }
)
"""The parser's spelling by that of Ceph's documentation."""


@lru_cache(256)
def translate(name: str) -> tuple[str, str]:
    """Return MinIO's name for AWS's, and the original if it is more specific, or "".

    The `s3:` may be missing, as in most records.
    """
    full = "s3:" + name.removeprefix("s3:")
    minio = _TRANSLATED.get(full)
    return (minio, full) if minio else (full, "")


def in_aws(event: "Event") -> str:
    """Return Amazon S3's name, with `s3:`; MinIO's if S3 has none."""
    source_name = event.original or event.name
    return _IN_AWS.get(source_name, source_name)


def in_ceph(event: "Event") -> str:
    """Return Ceph RGW's name, with `s3:`; the unchanged name if RGW has none."""
    source_name = event.original or event.name
    if source_name == "s3:LifecycleExpiration:Delete" and event.version_id:
        return "s3:ObjectLifecycle:Expiration:Noncurrent"
    return _IN_CEPH.get(source_name, event.name)


def spellings(event: "Event") -> tuple[str, ...]:
    """Return all names by which a rule may match the event, MinIO's first.

    An event that S3 invents after this was written belongs to its family too.
    """
    name = event.name
    if name not in SINGLES:
        return (name, *(family for family in FAMILIES if name.startswith(family[:-1])))
    if not event.original and name not in _IN_AWS and name not in _IN_CEPH:
        return (name,)
    every = (name, event.original, in_aws(event), in_ceph(event))
    return tuple(dict.fromkeys(filter(None, every)))


def from_words(words: str, *, listening: bool = False) -> tuple[str, ...]:
    """Return the event names in a list like `put,delete` or `s3:ObjectCreated:Put`.

    With `listening`, events of buckets being created and removed are allowed.

    Raises:
        ValueError: a word is neither one of `mc`'s nor an event name.
    """
    names: dict[str, None] = {}
    allowed = (*WORDS, "bucket-creation", "bucket-removal") if listening else tuple(WORDS)
    for word in filter(None, (part.strip() for part in words.split(","))):
        if word in WORDS:
            names.update(dict.fromkeys(WORDS[word]))
        elif name := canonical(word):
            names[name] = None
        elif word in LISTENERS_ONLY and listening:
            names[_SHORT.get(word, word)] = None
        elif word in LISTENERS_ONLY:
            raise ValueError(
                f"'{word}' reaches listeners only, as in MinIO: no rule can ask for it; "
                "`bucketcast listen --event bucket-creation,bucket-removal` shows them"
            )
        else:
            known = (*allowed, *FAMILIES, *SINGLES)
            raise ValueError(
                f"unknown event '{word}': {did_you_mean(word, known)}"
                f"allowed are {', '.join(allowed)} and names like s3:ObjectCreated:Put"
            )
    if not names:
        raise ValueError(f"no event in '{words}': name at least one of {', '.join(allowed)}")
    return tuple(names)


def canonical(name: str) -> str | None:
    """Return an event's or a family's name as rules store it; None if no rule can ask for it."""
    known = _IN_CEPHS_TEXT.get(name, name)
    return known if known in SINGLES or known in FAMILIES else None


def expand(name: str) -> tuple[str, ...]:
    """Return the single names of a family, and its own for those not known; or a single name."""
    return (*(name.replace("*", member) for member in FAMILIES.get(name, ())), name)


def creates(name: str) -> bool:
    """Return True if the event creates an object or a version, also if the name is unknown."""
    return name.startswith(_CREATED) and name not in _NOT_CREATED


def changes_nothing(name: str) -> bool:
    """Return True if the event leaves all objects and their metadata as they were."""
    return name == NOTHING_HAPPENED or name.startswith(_NO_CHANGES)
