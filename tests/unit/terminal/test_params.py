"""What the parameters of commands take, and how they refuse the rest."""

from collections.abc import Callable
from typing import Any

import click
import pytest

from bucketcast.terminal import params


@pytest.mark.parametrize(
    ("parse", "text", "allowed"),
    [
        (params.bucket_name, "Uploads/x", "invalid bucket name 'Uploads/x'; allowed are 2 to 255"),
        (params.rule_name, "a b", "invalid name 'a b'; allowed are 1 to 255"),
        (params.rule_name, "", "invalid name ''"),
        (params.target, "primary", "invalid target 'primary'; allowed is KIND:ID"),
        (params.target, "arn:aws:sqs:x", "invalid target 'arn:aws:sqs:x'; allowed is KIND:ID"),
        (params.target, "webhok:primary", "unknown kind 'webhok': did you mean 'webhook'?"),
        (params.target_or_topic, "arn:minio:x", "arn"),
        (params.events, "putt", "did you mean 'put'?"),
        (params.events, ",", "name at least one"),
        (params.single_event, "putt", "invalid event 'putt'; allowed are put, delete, get"),
        (params.pair, "x", "found 'x'; allowed is NAME=VALUE"),
        (params.object_uri, "uploads/a", "invalid object 'uploads/a'; allowed is s3://"),
        (params.object_uri, "s3://uploads", "invalid object 's3://uploads'"),
        (params.address, "office", "found 'office'; allowed is an address like 10.0.0.1"),
        (params.since, "5", "found '5'; allowed is a duration with its unit"),
        (params.key_part, "a/../b", "found '.' or '..' between slashes in 'a/../b'"),
        (params.key_part, "a\\b", "found a backslash in"),
        (params.key_part, "ä" * 513, "found 1026 bytes; allowed are 1024"),
        (params.key_part, "\udcff", "not valid UTF-8"),
        (params.condition("tag:"), "class", "'tag:class' is not a condition"),
        (params.condition(), "key=\udcff", "not valid UTF-8"),
    ],
)
def test_wrong_text_is_refused_with_what_is_allowed(
    parse: Callable[[str], Any], text: str, allowed: str
) -> None:
    with pytest.raises(click.BadParameter) as refused:
        parse(text)
    assert allowed in refused.value.message


def test_a_prefix_may_have_1024_bytes() -> None:
    assert params.key_part("ä" * 512) == "ä" * 512
