import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bucketcast.config import Deployment, load
from examples import consume
from localstack import background, operations, receiver


@pytest.mark.parametrize("more", [1, 65_537, 65_538, 200_000])
def test_photo_with_comments_is_the_same_picture(more: int) -> None:
    jpeg = operations.PHOTO.read_bytes()
    grown = operations.with_comments(jpeg, len(jpeg) + more)
    assert len(jpeg) + more <= len(grown) <= len(jpeg) + more + 5
    start = 2
    while grown[start : start + 2] == b"\xff\xfe":
        start += 2 + int.from_bytes(grown[start + 2 : start + 4])
    assert grown[:2] + grown[start:] == jpeg


def test_output_of_the_receiver_is_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "LOGS", tmp_path)
    log = background.log(receiver.NAME)
    log.write_text("from the last time\n")
    output = receiver.Output()
    happened = datetime.now(UTC) - timedelta(seconds=2)
    record = {
        "eventName": "s3:ObjectCreated:Put",
        "eventTime": happened.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "s3": {"bucket": {"name": "uploads"}, "object": {"key": "a%2Fb++c.jpg", "size": 7}},
    }
    printed = consume.line(record)
    with log.open("a") as file:
        file.write(f"waiting for events at {json.dumps('x')}\n{printed}\n{printed[:9]}")
    (arrival,) = output.arrivals(5)
    output.close()
    assert (arrival.name, arrival.path) == ("s3:ObjectCreated:Put", "uploads/a/b  c.jpg")
    assert 2 <= arrival.latency < 10


@pytest.mark.parametrize(
    ("text", "served"),
    [
        ('[notify_webhook.primary]\nendpoint = "http://127.0.0.1:9200/events"', ["primary"]),
        ('[notify_webhook.primary]\nendpoint = "https://example.org/"', []),
        ('[notify_webhook.mine]\nendpoint = "http://127.0.0.1:3000/"', []),
        ("", []),
    ],
)
def test_receiver_serves_a_local_primary_webhook_only(
    tmp_path: Path, text: str, served: list[str]
) -> None:
    file = tmp_path / "bucketcast.toml"
    file.write_text(text)
    deployment: Deployment = load(file, {}, local=True)
    assert [target.id for target in receiver.served_targets(deployment)] == served
