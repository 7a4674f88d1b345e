"""Messages that no source reads are dead-lettered with their reason; the others are delivered."""

import json
from collections.abc import Callable
from typing import Any

from tests.e2e.arrivals import posted
from tests.e2e.records import message, record
from tests.e2e.system import System, dead_of


def broken(prefix: str) -> dict[str, tuple[str, str]]:
    """Messages that no source reads, by what is wrong: body, and a part of the reason."""
    no_key: Any = record(f"{prefix}broken.jpg", 1)
    del no_key["s3"]["object"]["key"]
    number_for_key: Any = record(f"{prefix}broken.jpg", 1)
    number_for_key["s3"]["object"]["key"] = 7
    of_version_3 = record(f"{prefix}broken.jpg", 1) | {"eventVersion": "3.0"}
    good = record(f"{prefix}beside-a-broken-one.jpg", 1)
    of_eventbridge = {"source": "aws.s3", "detail-type": "Object Created", "detail": {}}
    return {
        "not JSON": ("hello?", "not a JSON object"),
        "a list": ("[1, 2]", "not a JSON object"),
        "no Records": ('{"Messages": []}', "no known event"),
        "Records is a number": ('{"Records": 5}', "Records is not a list"),
        "a record is a text": ('{"Records": ["x"]}', "broken S3 record"),
        "a record without key": (message(no_key), "missing required field `key`"),
        "a key that is a number": (message(number_for_key), "$.s3.object.key"),
        "a version to come": (message(of_version_3), "eventVersion is '3.0'"),
        "an empty detail": (json.dumps(of_eventbridge), "broken EventBridge event"),
        "one of two is broken": (message(good, no_key), "missing required field `key`"),
    }


def test_broken_messages_are_dead_lettered_and_a_good_one_arrives(
    system: System, prefix: str, rule: Callable[..., None]
) -> None:
    rule("webhook.primary")
    wanted = broken(prefix)
    good = message(record(f"{prefix}good.jpg", 1))
    system.send(system.ingress, [*(body for body, _ in wanted.values()), good])
    letters = system.dead_letters(dead_of(system.ingress), len(wanted))
    reasons = {letter.body: letter.attributes["reason"] for letter in letters}
    assert reasons.keys() == {body for body, _ in wanted.values()}
    for what, (body, part) in wanted.items():
        assert part in reasons[body], what
    system.until_settled()
    keys = [each.key for each in posted(system.consumers.webhook, f"uploads/{prefix}")]
    assert keys == [f"uploads/{prefix}good.jpg"]
