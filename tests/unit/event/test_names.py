"""Event names: MinIO's families, `mc`'s words, Amazon's names."""

import pytest

from bucketcast.event.names import expand, from_words, translate


def test_restore_family_includes_the_expiry_of_s3() -> None:
    assert "s3:ObjectRestore:Delete" in expand("s3:ObjectRestore:*")


def test_unknown_name_of_s3_passes_through() -> None:
    assert translate("ObjectHologram:Put") == ("s3:ObjectHologram:Put", "")


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("put", ("s3:ObjectCreated:*",)),
        ("delete", ("s3:ObjectRemoved:*",)),
        ("get", ("s3:ObjectAccessed:*",)),
        ("replica", ("s3:Replication:*",)),
        ("ilm", ("s3:ObjectRestore:*", "s3:ObjectTransition:*")),
        (" put , delete,", ("s3:ObjectCreated:*", "s3:ObjectRemoved:*")),
        ("put,put,s3:ObjectCreated:*", ("s3:ObjectCreated:*",)),
        ("s3:ObjectCreated:Copy,get", ("s3:ObjectCreated:Copy", "s3:ObjectAccessed:*")),
    ],
)
def test_words_of_mc_expand_to_names(words: str, names: tuple[str, ...]) -> None:
    assert from_words(words) == names


@pytest.mark.parametrize(
    ("words", "near"),
    [
        ("putt", "did you mean 'put'"),
        ("put,delet", "did you mean 'delete'"),
        ("s3:ObjectCreated:Putt", "did you mean 's3:ObjectCreated:Put'"),
        ("s3:objectcreated:put", "did you mean"),
        ("%%%", "allowed are put, delete"),
        ("", "name at least one of put"),
        (" , ", "name at least one of put"),
    ],
)
def test_unknown_word_gets_a_suggestion(words: str, near: str) -> None:
    with pytest.raises(ValueError, match=r"unknown event|no event") as refused:
        from_words(words)
    assert near in str(refused.value)
