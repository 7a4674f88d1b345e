"""Notification XML as MinIO writes it; its errors are those of the gateway."""

import subprocess

import pytest

from bucketcast.errors import ConfigErrors
from bucketcast.migrate import files, merge, render
from bucketcast.rules import Rule

XMLNS = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
JPEG = (
    "<QueueConfiguration><Id>1</Id><Filter><S3Key>"
    "<FilterRule><Name>prefix</Name><Value>in box/</Value></FilterRule>"
    "<FilterRule><Name>suffix</Name><Value>.jpg</Value></FilterRule></S3Key></Filter>"
    "<Event>s3:ObjectCreated:*</Event><Event>s3:ObjectRemoved:Delete</Event>"
    "<Queue>arn:minio:sqs:us-east-1:1:webhook</Queue></QueueConfiguration>"
)
PLAIN = (
    "<QueueConfiguration><Id></Id><Event>s3:ObjectAccessed:*</Event>"
    "<Queue>arn:minio:sqs::pg:postgresql</Queue></QueueConfiguration>"
)


def settle(inner: str, *, name: str = "x.xml", bucket: str = "images") -> merge.Merged:
    text = f"<NotificationConfiguration {XMLNS}>{inner}</NotificationConfiguration>"
    return merge.merge(files.read([(name, text)], bucket=bucket))


def problems(inner: str, **more: str) -> list[str]:
    with pytest.raises(ConfigErrors) as refused:
        settle(inner, **more)
    return [str(error) for error in refused.value.errors]


def test_configurations_become_rules_without_their_ids() -> None:
    same = JPEG.replace("<Id>1</Id>", "<Id>bucketcast:0</Id>")
    found = settle(JPEG + PLAIN + same)
    own = "rules get an id of their own"
    assert found.left_out == tuple(
        (f"the Id '{id_}' of images", own) for id_ in ("1", "bucketcast:0")
    )
    assert found.rules == (
        Rule(
            bucket="images",
            arn="arn:minio:sqs::1:webhook",
            events=("s3:ObjectCreated:*", "s3:ObjectRemoved:Delete"),
            prefix="in box/",
            suffix=".jpg",
        ),
        Rule(bucket="images", arn="arn:minio:sqs::pg:postgresql", events=("s3:ObjectAccessed:*",)),
    )


def test_command_of_a_rule_is_quoted_for_a_shell() -> None:
    (rule,) = settle(JPEG.replace("in box/", "it's $HOME/")).rules
    output = subprocess.run(
        ["sh", "-c", f"bucketcast() {{ printf '%s|' \"$@\"; }}; {render.command(rule)}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert output.stdout.split("|")[:-1] == [
        "event", "add", "images", "webhook:1",
        "--event", "s3:ObjectCreated:*,s3:ObjectRemoved:Delete",
        "--prefix", "it's $HOME/", "--suffix", ".jpg",
    ]  # fmt: skip


def test_the_folder_of_an_exported_file_names_the_bucket() -> None:
    (rule,) = settle(PLAIN, name="export/photos/notification.xml", bucket="").rules
    assert rule.bucket == "photos"


def test_a_topic_is_left_out() -> None:
    topic = "arn:aws:sns:eu-west-1:123456789012:t"
    found = settle(f"{PLAIN}<TopicConfiguration><Topic>{topic}</Topic></TopicConfiguration>")
    assert len(found.rules) == 1
    assert found.left_out == ((f"x.xml: {topic}", "it is a topic, which MinIO does not have"),)


@pytest.mark.parametrize("wrong", ["arn:aws:sqs:eu-west-1:1:q", "arn:minio:sqs::1:webhok"])
def test_an_invalid_document_is_refused(wrong: str) -> None:
    (problem,) = problems(PLAIN.replace("arn:minio:sqs::pg:postgresql", wrong))
    assert problem.startswith("x.xml: A specified destination ARN does not exist")


def test_a_bucket_is_needed() -> None:
    (problem,) = problems(PLAIN, bucket="")
    assert problem.startswith("x.xml: missing bucket; give it with --bucket NAME")


@pytest.mark.parametrize("text", ["", "hello\nworld", "# nothing", "[1]", "\x00\x01"])
def test_unknown_format_is_refused(text: str) -> None:
    with pytest.raises(ConfigErrors, match="f: unknown format; allowed are the output of"):
        files.read([("f", text)])
