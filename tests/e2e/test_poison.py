"""A rejected event is dead-lettered alone, with its reason; the others are delivered."""

import base64
import json
import random
import string
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from bucketcast.delivery.compression import decompress
from bucketcast.delivery.envelope import unpack
from tests.e2e import arrivals
from tests.e2e.arrivals import posted
from tests.e2e.records import message, record
from tests.e2e.system import DeadLetter, System, dead_of
from tests.servers.receiver import Answer

MIB = 1_048_576


def test_event_that_a_webhook_rejects_is_dead_lettered_alone(
    system: System, prefix: str, rule: Callable[..., None]
) -> None:
    flaky = system.consumers.flaky
    rule("webhook.flaky")
    records = [record(f"{prefix}{number}.jpg", number) for number in range(9)]
    poison = record(f"{prefix}poison.jpg", 9)
    flaky.answer(Answer(status=422, body="no such cat", match=f"{prefix}poison"))
    try:
        system.send(system.ingress, [message(*records[:5], poison, *records[5:])])
        system.until_equal(
            "each neighbour once",
            lambda: Counter(each.key for each in posted(flaky, f"uploads/{prefix}")),
            Counter(f"uploads/{prefix}{number}.jpg" for number in range(9)),
        )
        letter = system.dead_letters(system.targets["webhook.flaky"]["dead"], 1)[0]
    finally:
        flaky.answer()
    deliveries = unpack(letter.body)
    assert [json.loads(bytes(each.event.record)) for each in deliveries] == [poison]
    assert "answered 422: no such cat" in letter.attributes["reason"]
    assert letter.attributes["error"] == "Rejected"
    assert letter.attributes["target"] == system.targets["webhook.flaky"]["arn"]
    listed = system.bucketcast("event", "ls", "uploads", "--json").document["rules"]
    own = [each["id"] for each in listed if each["prefix"] == prefix]
    assert [letter.attributes["rule"]] == own


def test_a_key_that_postgresql_cannot_store_is_dead_lettered_alone(
    system: System, prefix: str, rule: Callable[..., None]
) -> None:
    rule("postgres.mirror", "postgres.log")
    names = ("before", "nul\0", "after")
    records = [record(f"{prefix}{name}", number) for number, name in enumerate(names)]
    system.send(system.ingress, [message(*records)])
    here = f"uploads/{prefix}"
    wanted = {f"{here}before", f"{here}after"}
    system.until_equal("its neighbours", lambda: set(arrivals.table(system, here)), wanted)
    letter = system.dead_letters(system.targets["postgres.mirror"]["dead"], 1)[0]
    deliveries = unpack(letter.body)
    assert [each.event.key for each in deliveries] == [f"{prefix}nul\0"]
    assert "NUL" in letter.attributes["reason"]
    # The log keeps the key escaped, so that it can be written there.
    system.until_equal("all three in the log", lambda: len(arrivals.table_log(system, here)), 3)


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


@pytest.mark.parametrize("filling", ["blank", "random"])
def test_mebibyte_of_rubbish_is_dead_lettered_with_a_reason(
    system: System, prefix: str, rule: Callable[..., None], filling: str
) -> None:
    """What compresses is kept whole; random text and a reason beside it do not fit into SQS."""
    rule("webhook.primary")
    chance = random.Random(1)  # noqa: S311 - rubbish, not secrecy
    letters = string.ascii_letters + string.digits + string.punctuation + " "
    rubbish = " " * MIB if filling == "blank" else "".join(chance.choices(letters, k=MIB))
    system.sqs.send_message(QueueUrl=system.ingress, MessageBody=rubbish)
    system.send(system.ingress, [message(record(f"{prefix}good.jpg", 1))])
    letter = system.dead_letters(dead_of(system.ingress), 1)[0]
    assert "not a JSON object" in letter.attributes["reason"]
    if filling == "blank":
        assert opened(letter) == rubbish
    else:
        assert rubbish.startswith(letter.body)
        assert len(letter.body) > MIB - 10_000
        assert letter.attributes["cut"] == f"this is the beginning of {MIB} bytes"
    system.until(
        "the good one",
        lambda: posted(system.consumers.webhook, f"uploads/{prefix}"),
        lambda seen: len(seen) == 1,
    )


def opened(letter: DeadLetter) -> str:
    """The body of a dead letter, which is packed where that made room for the reason."""
    if not letter.body.startswith('{"zstd"'):
        return letter.body
    return decompress(base64.b64decode(json.loads(letter.body)["zstd"])).decode()
