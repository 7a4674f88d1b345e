"""Event names: MinIO's single names and families, `mc`'s words, and AWS's names translated.

Source: the public list of AIStor's bucket notifications, and the enumeration of Amazon S3. A name
that only AWS has keeps AWS's spelling behind `s3:`, so that a rule can still ask for it.
"""

from types import MappingProxyType

from bucketcast.errors import did_you_mean

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
        ),
        "s3:ObjectRestore:*": ("Post", "Completed", "Delete"),
        "s3:ObjectTransition:*": ("Failed", "Complete"),
        "s3:Scanner:*": ("ManyVersions", "LargeVersions", "BigPrefix"),
    }
)
SINGLES = frozenset(
    family.replace("*", member) for family, members in FAMILIES.items() for member in members
) | {
    "s3:LifecycleDelMarkerExpiration:Delete",
    "s3:ObjectAcl:Put",
    "s3:IntelligentTiering",
    "s3:ReducedRedundancyLostObject",
    "s3:ObjectAnnotation:Put",
    "s3:ObjectAnnotation:Delete",
}
WORDS = MappingProxyType(
    {
        "put": ("s3:ObjectCreated:*",),
        "delete": ("s3:ObjectRemoved:*",),
        "get": ("s3:ObjectAccessed:*",),
        "replica": ("s3:Replication:*",),
        "ilm": ("s3:ObjectRestore:*", "s3:ObjectTransition:*"),
        "scanner": ("s3:Scanner:ManyVersions", "s3:Scanner:BigPrefix"),
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
"""After these the object is no longer what the bucket shows under its key."""
NOTHING_HAPPENED = "s3:ObjectRemoved:NoOP"

_FROM_AWS = MappingProxyType(
    {
        "ObjectTagging:Put": "s3:ObjectCreated:PutTagging",
        "ObjectTagging:Delete": "s3:ObjectCreated:DeleteTagging",
        "ObjectRetention:Put": "s3:ObjectCreated:PutRetention",
        "LifecycleExpiration:Delete": "s3:ObjectRemoved:Delete",
        "LifecycleExpiration:DeleteMarkerCreated": "s3:ObjectRemoved:DeleteMarkerCreated",
        "LifecycleTransition": "s3:ObjectTransition:Complete",
    }
)


def from_aws(name: str) -> str:
    """MinIO's name of what S3 calls `name`, with or without S3's optional `s3:`."""
    bare = name.removeprefix("s3:")
    return _FROM_AWS.get(bare) or f"s3:{bare}"


def from_words(words: str) -> tuple[str, ...]:
    """The names that a list like `put,delete` or `s3:ObjectCreated:Put` asks for, as given.

    Raises:
        ValueError: a word is neither one of `mc`'s nor an event name.
    """
    names: dict[str, None] = {}
    for word in filter(None, (part.strip() for part in words.split(","))):
        if word in WORDS:
            names.update(dict.fromkeys(WORDS[word]))
        elif word in SINGLES or word in FAMILIES:
            names[word] = None
        else:
            known = (*WORDS, *FAMILIES, *SINGLES)
            raise ValueError(
                f"unknown event '{word}': {did_you_mean(word, known)}"
                f"allowed are {', '.join(WORDS)} and names like s3:ObjectCreated:Put"
            )
    if not names:
        raise ValueError(f"no event in '{words}': name at least one of {', '.join(WORDS)}")
    return tuple(names)


def expand(name: str) -> tuple[str, ...]:
    """The single names behind a family; a single name is itself."""
    members = FAMILIES.get(name)
    return tuple(name.replace("*", member) for member in members) if members else (name,)
