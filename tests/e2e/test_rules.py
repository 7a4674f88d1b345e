"""Rules are active when the command that changed them returns."""

from collections import Counter

from tests.command_result import CommandResult
from tests.e2e.arrivals import posted
from tests.e2e.system import System

ROUNDS = 2


def test_rule_takes_effect_when_its_command_returns(system: System, prefix: str) -> None:
    arn = system.targets["webhook.primary"]["arn"]
    webhook = system.consumers.webhook
    exactly = ("--event", "put", "--prefix", prefix)

    def event(word: str) -> CommandResult:
        ran = system.bucketcast("event", word, "uploads", arn, *exactly)
        assert ran.code == 0, ran.err
        return ran

    wanted = set()
    for number in range(ROUNDS):
        event("add")
        system.put("uploads", f"{prefix}{number}-on.jpg")
        wanted.add(f"uploads/{prefix}{number}-on.jpg")
        system.until_equal(
            "the put after `event add`",
            lambda: {each.key for each in posted(webhook, f"uploads/{prefix}")},
            wanted,
        )
        event("rm")
        system.put("uploads", f"{prefix}{number}-off.jpg")
        system.until_settled()  # before the next `add`, which it must not meet
    keys = Counter(each.key for each in posted(webhook, f"uploads/{prefix}"))
    assert keys == Counter(wanted)
