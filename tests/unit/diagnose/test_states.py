"""What doctor says of targets that are alike."""

import pytest

from bucketcast.deployment import DeployedTarget
from bucketcast.diagnose.states import check_same
from bucketcast.state.dynamic_targets import DynamicTarget


@pytest.mark.parametrize(("topic", "expected"), [("", 2), ("orders", 0)])
def test_topics_may_have_one_endpoint(topic: str, expected: int) -> None:
    targets = [
        DeployedTarget(arn, "webhook", arn, "f", "q", "q-dead", dynamic=item(arn, topic))
        for arn in "abc"
    ]
    found = list(check_same([(target, {"endpoint": "https://h/"}) for target in targets]))
    assert len(found) == expected


def item(arn: str, topic: str) -> DynamicTarget:
    return DynamicTarget(
        arn=arn, kind="webhook", id=arn, queue="q", settings={}, number=1, topic=topic
    )
