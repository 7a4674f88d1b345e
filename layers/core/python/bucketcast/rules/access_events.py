"""Access events: events of calls that S3 does not notify of, and that CloudTrail logs for money.

A bucket's `access_events` name them, and a trail logs those calls only. These functions tell which
events of a rule nobody logs. They do not call AWS.
"""

from collections.abc import Collection, Iterable
from types import MappingProxyType
from typing import Final

from bucketcast.event.names import BUCKET_CREATED, BUCKET_REMOVED, FAMILIES, expand, from_words
from bucketcast.sources.cloudtrail import CALLS

PRICE: Final = "$1.00 per million calls logged, failed ones too"
NAMES: Final = MappingProxyType(
    {
        "get": "s3:ObjectAccessed:Get",
        "head": "s3:ObjectAccessed:Head",
        "attributes": "s3:ObjectAccessed:Attributes",
        "get-retention": "s3:ObjectAccessed:GetRetention",
        "get-legal-hold": "s3:ObjectAccessed:GetLegalHold",
        "put-legal-hold": "s3:ObjectCreated:PutLegalHold",
        "bucket-creation": BUCKET_CREATED,
        "bucket-removal": BUCKET_REMOVED,
    }
)
"""Event names by their words. S3 itself notifies of a changed retention, so it is not here."""
_WORDS: Final = MappingProxyType({name: word for word, name in NAMES.items()})
_DEFAULT: Final = frozenset(from_words("put,delete,get"))
"""The events of a rule of `mc` and `event add` whose user named none."""


def api_calls(events: Collection[str]) -> list[str]:
    """Return the S3 API calls whose events these are."""
    return [call for call, name in CALLS.items() if name in events]


def not_logged(events: Iterable[str], logged: Collection[str]) -> list[str]:
    """Return the events and families of a rule that only CloudTrail reports, and does not log.

    `logged` are the access events of the rule's bucket. Reads do not count in a rule with the
    default events, whose user may not have asked for them.
    """
    asked = list(events)
    if set(asked) == _DEFAULT:
        return []
    return [
        event
        for event in asked
        if (names := {*expand(event)}.difference(FAMILIES)) <= _WORDS.keys()
        and names.isdisjoint(logged)
    ]


def hint(bucket: str, events: Iterable[str], logged: Iterable[str]) -> str:
    """Return a text about events of a bucket that no trail logs, and the key that changes that.

    `logged` are those that it has to keep.
    """
    missing = list(events)
    names = dict.fromkeys((*logged, *(expand(event)[0] for event in missing)))
    words = ", ".join(f'"{_WORDS[name]}"' for name in names)
    return (
        f"S3 does not notify of {', '.join(missing)}: put access_events = [{words}] into "
        f"[bucket.{bucket}] and deploy, so that CloudTrail logs the calls ({PRICE})"
    )
