"""A look at the topic that makes nothing, as a producer's own question would."""

import time

from bucketcast.targets.kafka.client import CONNECT_SECONDS, configuration, started
from bucketcast.targets.kafka.errors import lacking_rights, refusal
from bucketcast.targets.kafka.given import Given
from bucketcast.targets.kafka.outlook import Outlook

STEP = 0.05


def look(given: Given, patience: float, where: str) -> None:
    """See whether the topic is there, and ours to write to.

    Raises:
        DeliveryError: it is not, or no broker can be asked.
    """
    from confluent_kafka import KafkaException, TopicCollection  # noqa: PLC0415 - see targets.base
    from confluent_kafka.admin import (  # type: ignore[attr-defined]  # noqa: PLC0415
        AclOperation,
        AdminClient,
    )

    outlook = Outlook(given, where)
    client = started(AdminClient, configuration(given, patience, batch_bytes=1), outlook)
    seconds = min(patience, CONNECT_SECONDS)
    deadline = time.monotonic() + seconds
    asked = client.describe_topics(
        TopicCollection([given.topic]), include_authorized_operations=True, request_timeout=seconds
    )[given.topic]
    while not asked.done():
        client.poll(STEP)
        if outlook.is_hopeless or time.monotonic() > deadline:
            raise outlook.reason()
    try:
        rights = asked.result().authorized_operations
    except KafkaException as error:
        raise refusal(error.args[0], given, where) from None
    if rights and AclOperation.WRITE not in rights:
        raise lacking_rights(where)
