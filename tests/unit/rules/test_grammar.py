"""Conditions as text: what is none, or none that can be."""

import pytest

from bucketcast.rules.grammar import parse


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("key", "'key' is not a condition"),
        ("tag:=x", "unknown 'tag:'"),
        ("tag:class=", "has no value"),
        ("colour=red", "unknown 'colour'"),
        ("content-typ=red", "did you mean 'content_type'"),
        ("size^=5", "size does not support ^=; allowed is size=VALUE"),
        ("source_ip=office", "found 'office'"),
        ("source_ip=300.1.1.1", "found '300.1.1.1'"),
    ],
)
def test_text_that_is_no_condition_is_refused_with_what_is_allowed(text: str, allowed: str) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        parse(text)
    assert allowed in str(refused.value)
