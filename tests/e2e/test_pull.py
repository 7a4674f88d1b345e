"""Subscriptions: events are stored, read in pages by several readers, and acknowledged."""

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import pull_reader
from tests.e2e.pubsub import Pubsub
from tests.e2e.system import System

ROOT = Path(__file__).resolve().parents[2]
BUCKET = "uploads"
EVENTS = 1_000


@pytest.fixture
def pubsub(system: System) -> Pubsub:
    where = system.environment
    return Pubsub(
        where["BUCKETCAST_URL"],
        where["BUCKETCAST_ACCESS_KEY"],
        where["BUCKETCAST_SECRET_KEY"],
        where["AWS_REGION"],
    )


@pytest.fixture
def subscription(system: System, pubsub: Pubsub, prefix: str) -> Iterator[str]:
    """A subscription of a topic that the puts below the prefix go to."""
    name = f"{prefix.strip('/')}-pull"
    arn = pubsub.do("PUT", f"topics/{name}")["arn"]
    assert arn.endswith(f":{name}")
    pubsub.do("PUT", f"subscriptions/{name}", topic=name)
    s3 = system.through("s3")
    rules = [{"Name": "prefix", "Value": prefix}]
    bound = {
        "Id": name,
        "TopicArn": arn,
        "Events": ["s3:ObjectCreated:*"],
        "Filter": {"Key": {"FilterRules": rules}},
    }
    s3.put_bucket_notification_configuration(
        Bucket=BUCKET, NotificationConfiguration={"TopicConfigurations": [bound]}
    )
    s3.close()
    yield name
    pubsub.do("DELETE", f"notifications/{BUCKET}", topic=name)
    pubsub.do("DELETE", f"topics/{name}")


def put(system: System, prefix: str, count: int) -> set[str]:
    keys = {f"{prefix}{number:04}" for number in range(count)}
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda key: system.s3.put_object(Bucket=BUCKET, Key=key, Body=b"."), keys))
    return keys


def stored(pubsub: Pubsub, name: str) -> set[str]:
    """The keys of all events that wait, read page by page."""
    keys: set[str] = set()
    marker = ""
    while True:
        page = pubsub.events(name, 1_000, **({"marker": marker} if marker else {}))
        keys |= {each["s3"]["object"]["key"] for each in page["Records"]}
        marker = page["next_marker"]
        assert page["is_truncated"] == bool(marker)
        if not marker:
            return keys


def read(system: System, name: str, log: Path, pause: str) -> subprocess.Popen[bytes]:
    where = system.environment
    keys = (where["BUCKETCAST_ACCESS_KEY"], where["BUCKETCAST_SECRET_KEY"])
    command = [sys.executable, "-m", pull_reader.__name__, where["BUCKETCAST_URL"], *keys]
    return subprocess.Popen([*command, name, str(log), pause], cwd=ROOT)


def noted(log: Path) -> list[dict[str, Any]]:
    text = log.read_text(encoding="utf-8") if log.exists() else ""
    # A reader that is killed may leave half a line.
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def test_two_readers_one_of_which_is_killed_before_it_acknowledges(
    system: System, pubsub: Pubsub, subscription: str, prefix: str, tmp_path: Path
) -> None:
    keys = put(system, prefix, EVENTS)
    system.until_equal("keys stored", lambda: stored(pubsub, subscription), keys, within=300)
    killed, other = tmp_path / "killed", tmp_path / "other"
    first = read(system, subscription, killed, "pause")
    try:
        pages = lambda: sum("seen" in each for each in noted(killed))  # noqa: E731
        system.until_equal("pages of the one to be killed", pages, 2, within=300)
        second = read(system, subscription, other, "")
        begun = lambda: any("acknowledged" in each for each in noted(other))  # noqa: E731
        system.until_equal("the other acknowledges", begun, True, within=300)  # noqa: FBT003
    finally:
        first.kill()
        first.wait()
    assert second.wait(timeout=600) == 0
    notes = noted(killed) + noted(other)
    seen = [each for each in noted(killed) if "seen" in each][1]["seen"]
    assert len(seen) == pull_reader.PAGE
    seen_by_the_other = {key for each in noted(other) for key in each.get("seen", {}).values()}
    assert set(seen.values()) <= seen_by_the_other
    assert {key for each in notes for key in each.get("seen", {}).values()} == keys
    answered = {each["acknowledged"]: each["answered"] for each in notes if "answered" in each}
    assert len(answered) == EVENTS
    for page in (each for each in notes if "seen" in each):
        assert not [event for event in page["seen"] if answered[event] < page["began"]]
    assert pubsub.events(subscription, 10)["Records"] == []


def test_what_a_page_says_and_the_command_line_shows(
    system: System, pubsub: Pubsub, subscription: str, prefix: str
) -> None:
    keys = put(system, prefix, 3)
    system.until_equal("keys stored", lambda: stored(pubsub, subscription), keys)
    page = pubsub.events(subscription, 2)
    assert (page["is_truncated"], page["next_marker"]) == (True, page["Records"][1]["eventId"])
    (last,) = pubsub.events(subscription, 2, marker=page["next_marker"])["Records"]
    assert last["s3"]["configurationId"] == subscription
    ran = system.bucketcast("topic", "stats", subscription, "--json")
    assert ran.document["subscriptions"] == [{"name": subscription, "entries": 3}]
    listed = system.bucketcast("topic", "get", subscription, "--json").document
    assert listed["subscriptions"] == [subscription]
    pubsub.do("DELETE", f"subscriptions/{subscription}")
    assert pubsub.call("GET", f"subscriptions/{subscription}")[0] == 404


def test_the_commands_of_the_page(
    system: System, subscription: str, prefix: str, pubsub: Pubsub
) -> None:
    (key,) = put(system, prefix, 1)
    system.until_equal("keys stored", lambda: stored(pubsub, subscription), {key})
    listed = json.loads(curl(system, "GET", f"subscriptions/{subscription}?events=&max-entries=9"))
    event = listed["Records"][0]["eventId"]
    assert curl(system, "POST", f"subscriptions/{subscription}?ack=&event-id={event}") == ""
    listed = json.loads(curl(system, "GET", f"subscriptions/{subscription}?events=&max-entries=9"))
    assert listed == {"next_marker": "", "is_truncated": False, "Records": []}
    more = f"{subscription}-2"
    assert json.loads(curl(system, "PUT", f"topics/{more}"))["arn"].endswith(more)
    assert curl(system, "PUT", f"subscriptions/{more}?topic={more}") == ""
    bind = f"notifications/{BUCKET}?events=OBJECT_CREATE&topic={more}"
    assert curl(system, "PUT", bind) == ""
    assert curl(system, "DELETE", f"notifications/{BUCKET}?topic={more}") == ""
    assert curl(system, "DELETE", f"subscriptions/{more}") == ""
    assert curl(system, "DELETE", f"topics/{more}") == ""


def curl(system: System, method: str, path: str) -> str:
    """What curl answers, called as docs/topics.md has it."""
    where = system.environment
    keys = f"{where['BUCKETCAST_ACCESS_KEY']}:{where['BUCKETCAST_SECRET_KEY']}"
    login = ["--aws-sigv4", f"aws:amz:{where['AWS_REGION']}:s3", "--user", keys]
    ran = subprocess.run(
        ["curl", "-sS", *login, "-X", method, f"{where['BUCKETCAST_URL']}/{path}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return ran.stdout


def test_notifications_of_the_same_api(system: System, pubsub: Pubsub, subscription: str) -> None:
    pubsub.do("PUT", f"notifications/{BUCKET}", topic=subscription, events="OBJECT_CREATE")
    listed = pubsub.do("GET", f"notifications/{BUCKET}")["topics"]
    mine = [each["events"] for each in listed if each["topic"]["name"] == subscription]
    assert ["OBJECT_CREATE"] in mine
    status, refused = pubsub.call("PUT", f"notifications/{BUCKET}", topic=subscription, events="x")
    assert (status, refused["Code"]) == (400, "InvalidArgument")
    assert system.s3.list_buckets()["Buckets"]
