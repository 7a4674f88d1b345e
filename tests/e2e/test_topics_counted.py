"""The counters of Ceph against a hand count, and what waits."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from bucketcast import deployment as deployed
from bucketcast.deployment.stats import target_stats
from bucketcast.topics.aws.metrics import read_pubsub
from tests.e2e.deployment import STACK
from tests.e2e.records import message, record
from tests.e2e.secure_gateway import client
from tests.e2e.system import Aws, System
from tests.servers.receiver import Answer, Request

BUCKET = "uploads"
EVENTS, REFUSED = 360, 120
MANY = 10_000
SECONDS = 240.0


@pytest.fixture
def bound(system: System, prefix: str) -> Iterator[Callable[..., str]]:
    """Make a topic that posts to a path of its own, and bind it to keys; all go in the end."""
    sns, s3 = client(system, "sns"), client(system, "s3")
    made: dict[str, str] = {}

    def make(short: str, below: str = "", **attributes: str) -> str:
        name = f"{prefix.strip('/')}-{short}"
        endpoint = f"http://{system.consumers.flaky.address}/open/{prefix}{short}"
        given = {"push-endpoint": endpoint, **attributes}
        made[name] = str(sns.create_topic(Name=name, Attributes=given)["TopicArn"])
        rules = [{"Name": "prefix", "Value": prefix + below}]
        wanted: dict[str, Any] = {
            "Id": name,
            "TopicArn": made[name],
            "Events": ["s3:ObjectCreated:*"],
        }
        wanted["Filter"] = {"Key": {"FilterRules": rules}}
        s3.put_bucket_notification_configuration(
            Bucket=BUCKET, NotificationConfiguration={"TopicConfigurations": [wanted]}
        )
        return name

    yield make
    for name, arn in made.items():
        words = ("--bucket", BUCKET, "--notification-id", name)
        assert system.bucketcast("notification", "rm", *words).code == 0
        sns.delete_topic(TopicArn=arn)
    sns.close()
    s3.close()


def requests(system: System, prefix: str, short: str) -> list[Request]:
    """All that came to a path."""
    path = f"/open/{prefix}{short}"
    return [each for each in system.consumers.flaky.requests() if each.path == path]


def arrived(system: System, prefix: str, short: str) -> Counter[str]:
    """How often each key was taken at a path."""
    bodies = [each.body for each in requests(system, prefix, short) if each.status == 200]
    found = (json.loads(body)["Records"][0]["s3"]["object"]["key"] for body in bodies)
    return Counter(key.removeprefix(prefix) for key in found)


def refusals(system: System, prefix: str, short: str) -> int:
    """How many requests were refused at a path."""
    return sum(each.status != 200 for each in requests(system, prefix, short))


def counters(system: System) -> Counter[str]:
    """Ceph's counters, from which the gateway writes the metrics that it keeps for ten seconds."""
    aws = Aws(system)
    found = target_stats(deployed.find(STACK, aws), aws)
    counts = read_pubsub(found, system.outputs["StateTable"], aws)._asdict()
    return Counter({f"pubsub_{name}": number for name, number in counts.items()})


def test_counters_after_an_hour_of_events_equal_a_hand_count(
    system: System, bound: Callable[..., str], prefix: str
) -> None:
    """An event every ten seconds of its own clock; the endpoint refuses those of 20 minutes."""
    system.until_settled()
    before = counters(system)
    topics = {
        "kept": {"persistent": "true"},
        "few": {"persistent": "true", "max_retries": "1", "retry_sleep_duration": "0"},
        "short": {"persistent": "true", "time_to_live": "4", "retry_sleep_duration": "1"},
        "once": {},
    }
    for short, attributes in topics.items():
        bound(short, **attributes)
    bound("some", below="even/", persistent="true")
    keys = [f"{'odd' if index % 2 else 'even'}/{index}" for index in range(EVENTS)]
    hook = system.consumers.flaky
    hook.answer(Answer(status=503, match='"eventTime":"2026-01-02T03:[23]'))
    spaced = [record(prefix + key, index * 10_000) for index, key in enumerate(keys)]
    no_topics = [record(f"elsewhere/{prefix}{index}", index) for index in range(9)]
    hour = [*spaced, *no_topics]
    system.send(system.ingress, [message(*hour[at : at + 15]) for at in range(0, len(hour), 15)])

    def grown() -> dict[str, int]:
        now = counters(system)
        return {name: now[name] - before[name] for name in now}

    def by_hand() -> dict[str, int]:
        """What the endpoint saw; as in Ceph, an event whose time is over is a failed push."""
        seen = {short: requests(system, prefix, short) for short in (*topics, "some")}
        refused = sum(each.status != 200 for answered in seen.values() for each in answered)
        accepted = {short: arrived(system, prefix, short) for short in seen}
        lost = {short: EVENTS - len(accepted[short]) for short in ("few", "short", "once")}
        return {
            "pubsub_event_triggered": len(topics) * EVENTS + EVENTS // 2,
            "pubsub_event_lost": sum(lost.values()),
            "pubsub_push_ok": sum(sum(each.values()) for each in accepted.values()),
            "pubsub_push_fail": refused + lost["short"],
            "pubsub_push_pending": 0,
        }

    for short, tries in {"once": 1, "few": 2}.items():
        look_at = partial(refusals, system, prefix, short)
        system.until(f"{short} gives up", look_at, (tries * REFUSED).__le__, within=SECONDS)
    hook.answer()
    even = [key for key in keys if key.startswith("even/")]
    for short, all_of in {"kept": keys, "some": even}.items():
        look = partial(arrived, system, prefix, short)
        system.until_equal(short, look, Counter(all_of), within=SECONDS)
    system.until("the hand count", lambda: (grown(), by_hand()), lambda pair: pair[0] == pair[1])
    for short in ("few", "once"):
        assert arrived(system, prefix, short) == Counter(keys[:REFUSED] + keys[2 * REFUSED :])


def test_ten_thousand_events_that_wait_are_counted_and_arrive(
    system: System, bound: Callable[..., str], prefix: str
) -> None:
    hook = system.consumers.flaky
    name = bound("many", persistent="true", OpaqueData="me")

    def stats() -> Any:
        return system.bucketcast("topic", "stats", name, "--json").document

    triggered = "pubsub_event_triggered"
    before = counters(system)[triggered]
    hook.stop()
    try:
        many = [record(f"{prefix}{index}", index) for index in range(MANY)]
        bodies = [message(*many[at : at + 25]) for at in range(0, MANY, 25)]
        system.send(system.ingress, bodies)
        system.until(
            "all wait",
            lambda: counters(system)[triggered] - before,
            MANY.__le__,
            within=SECONDS,
        )
        waiting = stats()
        assert 0 < waiting["messages"] < MANY
        assert waiting["messages"] == waiting["Topic Stats"]["Entries"]
        assert (waiting["pushed"], waiting["dead"], waiting["dead_letters"]) == (0, 0, 0)
    finally:
        hook.start_again()
    system.until("none waits", stats, lambda seen: seen["messages"] == 0, within=SECONDS)
    assert arrived(system, prefix, "many").keys() == set(map(str, range(MANY)))
    assert stats()["dead"] == 0
    hook.clear()
