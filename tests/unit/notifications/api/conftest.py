"""A stack with one target, to which the deploy has attached the bucket uploads."""

from functools import partial

import pytest

from bucketcast.deployment import read_outputs
from bucketcast.notifications.api import Notifications
from tests.unit.conftest import Deploy
from tests.unit.moto_aws import ENTRY, MotoAws, make_bucket


@pytest.fixture
def aws(deploy: Deploy) -> MotoAws:
    make_bucket("uploads", QueueConfigurations=[ENTRY])
    deployed = deploy(("webhook", "webhook", "primary"))
    deployed.sqs.create_queue(QueueName="Bucketcast-ingress")
    deployed.attach_by_deploy()
    return deployed


@pytest.fixture
def notifications(aws: MotoAws) -> Notifications:
    return Notifications(partial(read_outputs, "Bucketcast", aws), aws, "us-east-1")
