"""One table of names: what each system calls an event, whichever of them reported it.

Rows are AIStor's list of bucket notifications, the enumeration of Amazon S3 and Ceph's "S3 Bucket
Notifications Compatibility"; a dash where a system has no name of its own for it.
"""

from typing import NamedTuple

import pytest

from bucketcast.event import Event
from bucketcast.event.names import (
    LISTENERS_ONLY,
    SINGLES,
    expand,
    from_words,
    in_aws,
    in_ceph,
    spellings,
    translate,
)
from tests.unit.samples import event

TABLE = """
told as                                         MinIO                                        Amazon S3                                    Ceph RGW
ObjectCreated:Put                               s3:ObjectCreated:Put                         =                                            =
ObjectCreated:Post                              s3:ObjectCreated:Post                        =                                            =
ObjectCreated:Copy                              s3:ObjectCreated:Copy                        =                                            =
ObjectCreated:CompleteMultipartUpload           s3:ObjectCreated:CompleteMultipartUpload     =                                            =
ObjectTagging:Put                               s3:ObjectCreated:PutTagging                  s3:ObjectTagging:Put                         -
ObjectTagging:Delete                            s3:ObjectCreated:DeleteTagging               s3:ObjectTagging:Delete                      -
ObjectRetention:Put                             s3:ObjectCreated:PutRetention                s3:ObjectRetention:Put                       -
s3:ObjectCreated:PutTagging                     s3:ObjectCreated:PutTagging                  s3:ObjectTagging:Put                         -
s3:ObjectCreated:DeleteTagging                  s3:ObjectCreated:DeleteTagging               s3:ObjectTagging:Delete                      -
s3:ObjectCreated:PutRetention                   s3:ObjectCreated:PutRetention                s3:ObjectRetention:Put                       -
s3:ObjectCreated:PutLegalHold                   s3:ObjectCreated:PutLegalHold                -                                            -
s3:ObjectAccessed:Get                           s3:ObjectAccessed:Get                        -                                            -
s3:ObjectAccessed:Head                          s3:ObjectAccessed:Head                       -                                            -
s3:ObjectAccessed:GetRetention                  s3:ObjectAccessed:GetRetention               -                                            -
s3:ObjectAccessed:GetLegalHold                  s3:ObjectAccessed:GetLegalHold               -                                            -
s3:ObjectAccessed:Attributes                    s3:ObjectAccessed:Attributes                 -                                            -
ObjectRemoved:Delete                            s3:ObjectRemoved:Delete                      =                                            =
ObjectRemoved:DeleteMarkerCreated               s3:ObjectRemoved:DeleteMarkerCreated         =                                            =
s3:ObjectRemoved:NoOP                           s3:ObjectRemoved:NoOP                        -                                            -
s3:ObjectRemoved:DeleteAllVersions              s3:ObjectRemoved:DeleteAllVersions           -                                            -
s3:LifecycleDelMarkerExpiration:Delete          s3:LifecycleDelMarkerExpiration:Delete       s3:LifecycleExpiration:Delete                s3:ObjectLifecycle:Expiration:DeleteMarker
LifecycleExpiration:Delete                      s3:ObjectRemoved:Delete                      s3:LifecycleExpiration:Delete                s3:ObjectLifecycle:Expiration:Current
LifecycleExpiration:Delete v1                   s3:ObjectRemoved:Delete                      s3:LifecycleExpiration:Delete                s3:ObjectLifecycle:Expiration:Noncurrent
LifecycleExpiration:DeleteMarkerCreated v1      s3:ObjectRemoved:DeleteMarkerCreated         s3:LifecycleExpiration:DeleteMarkerCreated   s3:ObjectLifecycle:Expiration:Current
LifecycleTransition                             s3:ObjectTransition:Complete                 s3:LifecycleTransition                       s3:ObjectLifecycle:Transition:Current
s3:ObjectTransition:Complete                    s3:ObjectTransition:Complete                 s3:LifecycleTransition                       s3:ObjectLifecycle:Transition:Current
s3:ObjectTransition:Failed                      s3:ObjectTransition:Failed                   -                                            -
IntelligentTiering                              s3:IntelligentTiering                        =                                            -
ObjectRestore:Post                              s3:ObjectRestore:Post                        =                                            =
ObjectRestore:Completed                         s3:ObjectRestore:Completed                   =                                            =
ObjectRestore:Delete                            s3:ObjectRestore:Delete                      =                                            =
ObjectAcl:Put                                   s3:ObjectAcl:Put                             =                                            -
ObjectAnnotation:Put                            s3:ObjectAnnotation:Put                      =                                            -
ObjectAnnotation:Delete                         s3:ObjectAnnotation:Delete                   =                                            -
ReducedRedundancyLostObject                     s3:ReducedRedundancyLostObject               =                                            -
s3:Replication:OperationFailedReplication       s3:Replication:OperationFailedReplication    =                                            -
Replication:OperationMissedThreshold            s3:Replication:OperationMissedThreshold      =                                            -
Replication:OperationReplicatedAfterThreshold   s3:Replication:OperationReplicatedAfterThreshold  =                                       -
Replication:OperationNotTracked                 s3:Replication:OperationNotTracked           =                                            -
s3:Replication:OperationCompletedReplication    s3:Replication:OperationCompletedReplication -                                            -
s3:Scanner:ManyVersions                         s3:Scanner:ManyVersions                      -                                            -
s3:Scanner:LargeVersions                        s3:Scanner:LargeVersions                     -                                            -
s3:Scanner:BigPrefix                            s3:Scanner:BigPrefix                         -                                            -
s3:BucketCreated:*                              s3:BucketCreated:*                           -                                            -
s3:BucketRemoved:*                              s3:BucketRemoved:*                           -                                            -
"""  # noqa: E501 - a table


class Row(NamedTuple):
    source_name: str
    version: str | None
    minio: str
    aws: str
    ceph: str


def rows() -> list[Row]:
    found = []
    for line in TABLE.strip().splitlines()[1:]:
        source_name, *rest = line.split()
        version = rest.pop(0) if not rest[0].startswith("s3:") else None
        minio, aws, ceph = rest
        found.append(
            Row(source_name, version, minio, *(minio if n in "=-" else n for n in (aws, ceph)))
        )
    return found


ROWS = rows()


def event_of(row: Row) -> Event:
    name, original = translate(row.source_name)
    return event(name=name, original=original, version_id=row.version)


@pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: f"{row.source_name} {row.version or ''}".strip()
)
def test_each_system_has_its_name_for_an_event(row: Row) -> None:
    parsed = event_of(row)
    assert (parsed.name, in_aws(parsed), in_ceph(parsed)) == (row.minio, row.aws, row.ceph)


@pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: f"{row.source_name} {row.version or ''}".strip()
)
def test_rule_matches_any_of_an_events_names(row: Row) -> None:
    spelled = spellings(event_of(row))
    assert spelled[0] == row.minio
    assert {row.minio, row.aws, row.ceph, "s3:" + row.source_name.removeprefix("s3:")} >= set(
        spelled
    )
    assert {row.minio, row.aws, row.ceph} <= set(spelled)
    assert set(spelled) <= SINGLES | LISTENERS_ONLY


def test_table_has_every_single_name() -> None:
    in_table = {name for row in ROWS for name in (row.minio, row.aws, row.ceph)}
    # Ceph accepts the first in a rule and never says it; the others S3 does not say.
    assert in_table == (SINGLES | {"s3:BucketCreated:*", "s3:BucketRemoved:*"}) - {
        "s3:ObjectLifecycle:Expiration:AbortMultipartUpload",
        "s3:ObjectLifecycle:Transition:Noncurrent",
        *expand("s3:ObjectSynced:*"),
        "s3:Replication:Create",
        "s3:Replication:Delete",
        "s3:Replication:DeletionMarkerCreated",
    }


@pytest.mark.parametrize("word", sorted(LISTENERS_ONLY))
def test_rule_refuses_events_for_listeners_only(word: str) -> None:
    with pytest.raises(ValueError, match="listeners only"):
        from_words(word)


def test_spelling_of_cephs_documentation_is_accepted() -> None:
    assert from_words("s3:ObjectLifecycle:Expiration:NonCurrent") == (
        "s3:ObjectLifecycle:Expiration:Noncurrent",
    )
