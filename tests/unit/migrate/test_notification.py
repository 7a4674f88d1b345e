"""Notification XML, as MinIO, `mc` and Amazon S3 write it."""

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


def queue(*, arn: str = "arn:minio:sqs::1:webhook", event: str = "s3:ObjectCreated:*") -> str:
    return f"<QueueConfiguration><Event>{event}</Event><Queue>{arn}</Queue></QueueConfiguration>"


def test_configurations_become_rules() -> None:
    assert settle(JPEG + PLAIN).rules == (
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
    (rule,) = settle(queue(), name="export/photos/notification.xml", bucket="").rules
    assert rule.bucket == "photos"


def test_names_of_s3_are_read() -> None:
    inner = (
        "<TopicConfiguration><Filter><S3Key><FilterRule><Name>Prefix</Name><Value>a</Value>"
        "</FilterRule></S3Key></Filter><Event>s3:ObjectRestore:Completed</Event>"
        "<Topic>arn:minio:sqs::1:redis</Topic></TopicConfiguration>"
    )
    (rule,) = settle(inner).rules
    assert (rule.arn, rule.prefix) == ("arn:minio:sqs::1:redis", "a")


def test_configurations_with_an_aws_target_are_left_out() -> None:
    found = settle(
        queue(arn="arn:aws:sqs:eu-west-1:123456789012:q")
        + "<CloudFunctionConfiguration><Id>f</Id><Event>s3:ObjectCreated:Put</Event>"
        "<CloudFunction>arn:aws:lambda:eu-west-1:1:function:f</CloudFunction>"
        "</CloudFunctionConfiguration><EventBridgeConfiguration/>"
    )
    assert found.rules == ()
    assert [left.what for left in found.left_out] == [
        "x.xml: QueueConfiguration 1 (arn:aws:sqs:eu-west-1:123456789012:q)",
        "x.xml: CloudFunctionConfiguration f (arn:aws:lambda:eu-west-1:1:function:f)",
        "x.xml: EventBridgeConfiguration 3",
    ]
    assert "S3 itself sends there" in found.left_out[0].why


@pytest.mark.parametrize(
    ("inner", "problem"),
    [
        (queue(arn="arn:minio:sqs::1"), "x.xml: QueueConfiguration 1: invalid ARN 'arn:minio:sqs"),
        (queue(event="s3:Nothing"), "x.xml: QueueConfiguration 1: unknown event 's3:Nothing'"),
        (queue(event=""), "x.xml: QueueConfiguration 1: no event in ''"),
        (queue(arn="arn:minio:sqs::1:webhok"), "x.xml: QueueConfiguration 1: unknown kind 'webh"),
        (JPEG.replace("suffix", "infix"), "x.xml: QueueConfiguration 1: found a filter 'infix'"),
        (JPEG.replace("suffix", "prefix"), "x.xml: QueueConfiguration 1: duplicate filter"),
        ("<QueueConfiguration>", "x.xml: invalid XML: "),
    ],
)
def test_errors_name_their_element(inner: str, problem: str) -> None:
    assert problems(inner)[0].startswith(problem)


def test_a_bucket_is_needed() -> None:
    (problem,) = problems(queue(), bucket="")
    assert problem.startswith("x.xml: missing bucket; give it with --bucket NAME")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<Notification/>", "x.xml: found Notification; a NotificationConfiguration"),
        (
            '<!DOCTYPE x [<!ENTITY a "b">]><NotificationConfiguration/>',
            "x.xml: found a DOCTYPE; a NotificationConfiguration without one",
        ),
    ],
)
def test_other_documents_are_refused(text: str, problem: str) -> None:
    with pytest.raises(ConfigErrors) as refused:
        files.read([("x.xml", text)], bucket="images")
    assert str(refused.value).startswith(problem)


@pytest.mark.parametrize("text", ["", "hello\nworld", "# nothing", "[1]", "\x00\x01"])
def test_unknown_format_is_refused(text: str) -> None:
    with pytest.raises(ConfigErrors, match="f: unknown format; allowed are the output of"):
        files.read([("f", text)])


def test_an_id_is_reported_and_a_filter_by_tags_is_refused() -> None:
    assert settle(JPEG).left_out == (("the Id '1' of images", "rules get an id of their own"),)
    tagged = "<S3Tags><FilterRule><Name>class</Name><Value>x</Value></FilterRule></S3Tags></Filter>"
    (problem,) = problems(JPEG.replace("</Filter>", tagged))
    assert "found a filter by tags or metadata; allowed are prefix and suffix" in problem
