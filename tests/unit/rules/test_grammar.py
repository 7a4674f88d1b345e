"""Conditions as text: what it means, and what is none, or none that can be."""

import pytest

from bucketcast.rules.conditions import Condition
from bucketcast.rules.grammar import parse, texts


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("key=exactly", Condition("key", ("exactly",))),
        ("key~=team-[0-9]+/.*", Condition("key", ("team-[0-9]+/.*",), "regex")),
        ("tag:Class^=x", Condition("tag:Class", ("x",), "prefix")),
        ("metadata:Team=a=b", Condition("metadata:x-amz-meta-team", ("a=b",))),
        (
            "metadata:x-amz-meta-team$=ed",
            Condition("metadata:x-amz-meta-team", ("ed",), "suffix"),
        ),
        ("content-type^=image/", Condition("content_type", ("image/",), "prefix")),
        ("size=1KiB-10MB", Condition("size", ("1KiB-10MB",), "range")),
        ("source_ip=10.1.2.3", Condition("source_ip", ("10.1.2.3",), "cidr")),
        ("source_ip=s3.amazonaws.com", Condition("source_ip", ("s3.amazonaws.com",))),
    ],
)
def test_a_text_is_a_condition_and_back(text: str, condition: Condition) -> None:
    assert parse(text) == condition
    (written,) = texts(condition)
    assert parse(written) == condition


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("key", "'key' is not a condition"),
        ("tag:class=", "has no value"),
        ("content-typ=red", "did you mean 'content_type'"),
        ("size^=5", "size does not support ^=; allowed is size=VALUE"),
        ("source_ip=office", "found 'office'"),
    ],
)
def test_text_that_is_no_condition_is_refused_with_what_is_allowed(text: str, allowed: str) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        parse(text)
    assert allowed in str(refused.value)
