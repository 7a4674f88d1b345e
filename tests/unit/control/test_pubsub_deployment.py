"""What calls know of the stack while AWS cannot be reached."""

import msgspec
import pytest
from moto import mock_aws
from msgspec.structs import replace

from bucketcast.control.pubsub.deployment import Deployment
from bucketcast.errors import BucketcastError
from tests.unit.fake_aws import FakeAws, refusal
from tests.unit.runtime_targets import RUNTIME


def test_the_last_answer_holds_while_cloudformation_throttles() -> None:
    now = 0.0
    with mock_aws():
        aws = FakeAws()
        runtime = replace(RUNTIME, pull="events", topics_per_user=3)
        aws.outputs["RuntimeOutput"] = msgspec.json.encode(runtime).decode()
        answers = aws.cloudformation.describe_stacks

        def throttled(**_: object) -> None:
            raise refusal("Throttling", "DescribeStacks")

        stack = Deployment("Bucketcast", aws, lambda: now)
        aws.cloudformation.describe_stacks = throttled
        with pytest.raises(BucketcastError):
            stack.pull()
        aws.cloudformation.describe_stacks = answers
        assert stack.pull()
        aws.cloudformation.describe_stacks = throttled
        now = 61.0
        assert stack.pull()
        assert stack.topics_per_user() == 3
