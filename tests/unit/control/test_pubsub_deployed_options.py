"""What calls know of the stack while AWS cannot be reached."""

from unittest.mock import Mock

import msgspec
import pytest
from msgspec.structs import replace

from bucketcast.control.pubsub.deployed_options import DeployedOptions
from bucketcast.errors import BucketcastError
from tests.unit.aws import refusal
from tests.unit.conftest import Deploy
from tests.unit.runtime_targets import RUNTIME


def test_the_last_answer_holds_while_cloudformation_throttles(
    deploy: Deploy, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, aws = 0.0, deploy()
    runtime = replace(RUNTIME, pull="events", topics_per_user=3)
    aws.outputs["RuntimeOutput"] = msgspec.json.encode(runtime).decode()
    throttled = Mock(side_effect=refusal("Throttling", "DescribeStacks"))
    options = DeployedOptions("Bucketcast", aws, lambda: now)
    with monkeypatch.context() as patch:
        patch.setattr(aws.cloudformation, "describe_stacks", throttled)
        with pytest.raises(BucketcastError):
            options.pull()
    assert options.pull()
    monkeypatch.setattr(aws.cloudformation, "describe_stacks", throttled)
    now = 61.0
    assert options.pull()
    assert options.topics_per_user() == 3
