"""Bad events among many: the others arrive, `dlq` shows the reason and redrives them."""

import json
from collections import Counter
from collections.abc import Callable

from tests.e2e.arrivals import posted
from tests.e2e.records import message, record
from tests.e2e.system import RETURN_SECONDS, System
from tests.servers.receiver import Answer

EVENTS = 200
POISON = range(7, EVENTS, 20)
ARN = "webhook.flaky"


def test_dead_letter_is_listed_shown_and_redriven(
    system: System, prefix: str, rule: Callable[..., None]
) -> None:
    flaky = system.consumers.flaky
    rule(ARN)
    arn, dead = system.targets[ARN]["arn"], system.targets[ARN]["dead"]
    names = [
        f"{prefix}{'bad' if number in POISON else 'good'}-{number}.jpg" for number in range(EVENTS)
    ]
    records = [record(name, number) for number, name in enumerate(names)]
    good = Counter(f"uploads/{name}" for name in names if "good-" in name)
    poison = {name for name in names if "bad-" in name}

    def arrived() -> Counter[str]:
        return Counter(each.key for each in posted(flaky, f"uploads/{prefix}"))

    flaky.answer(Answer(status=422, body="no such cat", match=f"{prefix}bad-"))
    try:
        system.send(
            system.ingress, [message(*records[at : at + 50]) for at in range(0, EVENTS, 50)]
        )
        system.until_equal("each neighbour once", arrived, good, within=RETURN_SECONDS)
        system.until_equal("the poison", lambda: system.depth(dead), len(poison))
        listed = system.bucketcast("dlq", "ls", arn, "--prefix", prefix, "--json").document
        (group,) = listed["reasons"]
        assert "answered 422: no such cat" in group["reason"]
        assert (group["error"], group["events"]) == ("Rejected", len(poison))
        (letters,) = system.bucketcast(
            "dlq", "show", arn, "--id", group["example"], "--json"
        ).document["dead_letters"]
        (event,) = letters["events"]
        assert event["key"] in poison
        assert json.loads(event["body"])["Key"] == f"uploads/{event['key']}"
        again = system.bucketcast("dlq", "redrive", arn, "--limit", "1", "--json").document
        assert again["events"] == 1
        system.until_equal("it is back", lambda: system.depth(dead), len(poison))
    finally:
        flaky.answer()
    dry = system.bucketcast("dlq", "redrive", arn, "--dry-run", "--json").document
    assert dry["events"] == len(poison)
    result = system.bucketcast("dlq", "redrive", arn, "--rate", "100", "--json").document
    assert (result["events"], result["failed"], result["unusable"]) == (len(poison), {}, {})
    everything = good + Counter(f"uploads/{name}" for name in poison)
    system.until_equal("all of them, once", arrived, everything, within=RETURN_SECONDS)
    assert system.depth(dead) == 0
