"""ARNs, as MinIO writes them."""

import pytest

from bucketcast.arn import Arn


@pytest.mark.parametrize(
    ("text", "arn"),
    [
        ("arn:minio:sqs::primary:webhook", Arn("primary", "webhook")),
        ("arn:minio:sqs::_:postgresql", Arn("_", "postgresql")),
        ("arn:minio:sqs:eu-central-1:1:redis", Arn("1", "redis", "eu-central-1")),
    ],
)
def test_text_and_arn_are_one(text: str, arn: Arn) -> None:
    assert Arn.parse(text) == arn
    assert str(arn) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "webhook",
        "arn:aws:sqs::1:webhook",
        "arn:minio:sns::1:webhook",
        "arn:minio:sqs::webhook",
        "arn:minio:sqs:::webhook",
        "arn:minio:sqs::1:",
        "arn:minio:sqs::1:webhook:more",
        " arn:minio:sqs::1:webhook",
    ],
)
def test_what_is_no_arn_is_shown_with_the_form(text: str) -> None:
    with pytest.raises(ValueError, match="invalid ARN") as refused:
        Arn.parse(text)
    assert f"'{text}'" in str(refused.value)
    assert "arn:minio:sqs:<region>:<id>:<type>" in str(refused.value)
