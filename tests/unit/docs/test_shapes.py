"""`docs/shapes.md` shows what is sent."""

import json
from pathlib import Path
from typing import get_args

import pytest

from bucketcast import sources
from bucketcast.event import Event
from bucketcast.settings import options
from bucketcast.shapes import Name
from bucketcast.targets.base import Target
from bucketcast.targets.webhook import Target as Webhook
from tests.unit.samples import recorded

PAGE = Path(__file__).parents[3] / "docs" / "shapes.md"


def the_event() -> Event:
    """S3's record of an object whose key says how keys are written."""
    record = recorded("s3/put-2.1").replace("photos/cat.jpg", "photos/a+b%2Bc.jpg")
    return sources.events(record)[0]


def webhook(name: str) -> Target:
    texts = {"endpoint": "https://example.org/hook", "shape": name}
    return Webhook(options.read(Webhook.Settings, texts))


def example(name: str) -> str:
    """The section's code: headers, where the shape has its own, and the body, laid out."""
    target, one = webhook(name), the_event()
    text = json.dumps(json.loads(target.body(one)), indent=2)
    if not target.shape.attributes:
        return f"```json\n{text}\n```\n"
    headers = "\n".join(f"{key}: {value}" for key, value in target.headers(one).items())
    return f"```http\n{headers}\n\n{text}\n```\n"


@pytest.mark.parametrize("name", get_args(Name))
def test_page_shows_the_sent_body(name: str) -> None:
    (section,) = (
        each for each in PAGE.read_text("utf-8").split("\n## ") if each.startswith(f"`{name}`")
    )
    assert example(name) in section
