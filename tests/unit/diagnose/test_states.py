"""What doctor says of targets that are alike."""

import pytest

from bucketcast.deployment import DeployedTarget
from bucketcast.diagnose.states import check_same
from bucketcast.state.items import DynamicTarget, Topic

PLAIN = DynamicTarget(arn="a", kind="webhook", id="a")
TOPIC = Topic(arn="a", kind="webhook", id="a", owner="ann", attributes={})


@pytest.mark.parametrize(("item", "expected"), [(PLAIN, 2), (TOPIC, 0)])
def test_topics_may_have_one_endpoint(item: DynamicTarget, expected: int) -> None:
    targets = [
        DeployedTarget(arn, "webhook", arn, "f", "q", "q-dead", dynamic=item) for arn in "abc"
    ]
    found = list(check_same([(target, {"endpoint": "https://h/"}) for target in targets]))
    assert len(found) == expected
