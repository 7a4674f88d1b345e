"""A target that is off keeps what waits, and is removed with it only where that is said."""

from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from tests.e2e.deployment import STACK, Local
from tests.e2e.records import message, record
from tests.e2e.system import Deployed

GONE = "arn:minio:sqs::gone:webhook"
KEPT = '[notify_webhook.kept]\nendpoint = "http://127.0.0.1:9/"\n'
OFF = '[notify_webhook.gone]\nendpoint = "http://127.0.0.1:9/"\nenable = "off"\n'


def test_target_with_waiting_events_is_not_removed(alone: Local, tmp_path: Path) -> None:
    config = tmp_path / "bucketcast.toml"
    config.write_text(KEPT + OFF)
    alone.up(config)
    system = Deployed(alone, config, tmp_path)
    queue = system.targets["webhook.gone"]["queue"]
    system.add_rule("uploads", "webhook.gone")
    system.send(system.ingress, [message(record("photo.jpg", 1))])
    system.until("the event waits", lambda: system.depth(queue), lambda depth: depth == 1)
    system.until_equal("ingest is done", lambda: system.depth(system.ingress), 0)
    assert not alive(system, queue)["ApproximateNumberOfMessagesNotVisible"]
    assert system.fares()["webhook.gone"]["enabled"] is False

    config.write_text(KEPT)
    with pytest.raises(AssertionError) as refused:
        alone.up(config)
    assert f"{GONE} is to be removed, and there are 1 messages in" in str(refused.value)
    stacks = system.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"]
    assert stacks[0]["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    assert system.depth(queue) == 1
    # The deploy that failed took nothing of it away: another event waits beside the first.
    system.send(system.ingress, [message(record("photo.jpg", 2))])
    system.until("both wait", lambda: system.depth(queue), lambda depth: depth == 2)
    assert system.beyond_their_rights() == []

    config.write_text(f'{KEPT}[removed]\ndiscard = ["{GONE}"]\n')
    alone.up(config)
    with pytest.raises(ClientError, match="NonExistentQueue"):
        system.depth(queue)
    system.close()


def alive(system: Deployed, queue: str) -> dict[str, int]:
    """The counts of a queue."""
    found = system.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])["Attributes"]
    return {name: int(text) for name, text in found.items() if name.startswith("Approximate")}
