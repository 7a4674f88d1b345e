"""`Custom::Targets`: refuse a deploy that would remove a target while events wait for it.

Properties: `Queues` (the URLs of queue and dead letters by ARN), `Discard` (ARNs whose events may
be given up), `Settle` (for how many seconds a queue must be seen empty) and `Timeout` (for how
long to wait for that), `Kinds` (for which dynamic targets and topics have a function) and
`StateTable`, in which those are kept; `DynamicQueues` (the URL of their queues but for the name)
and `DynamicVisibility` (for how many seconds these hide a message at least).
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

from bucketcast.deployment.removal import Removal
from bucketcast.notifications.aws import propagation
from bucketcast.state.dynamic_targets import Table
from bucketcast.topics.aws.deploy import raise_visibility, require_functions
from bucketcast.topics.aws.table import TopicTable
from functions.custom_resources.request import Clients, client, is_rolled_back


def keep(
    event: Mapping[str, Any],
    clients: Clients = client,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Refuse to remove targets with waiting events, unless a deploy is rolled back.

    Nor may a function be removed that dynamic targets or topics need. One that may run for longer
    from now on is changed after this, which lets its queues hide messages for as long.

    Raises:
        BucketcastError: events wait, or dynamic targets or topics would have no function.
        ClientError: AWS refused, also after a while where waiting could have helped.
    """
    if event["RequestType"] != "Update":
        return
    if is_rolled_back(event, clients):
        return  # what is removed is what the failed deploy had added
    before, after = event["OldResourceProperties"], event["ResourceProperties"]
    if "StateTable" in after:
        where = after["StateTable"], clients("dynamodb")
        table, topics = Table(*where), TopicTable(*where)
        kinds = before.get("Kinds", ()), after.get("Kinds", ())
        propagation.retry(lambda: require_functions(table, topics, *kinds), sleep)
        if "DynamicVisibility" in after:
            queues, seconds = after["DynamicQueues"], int(after["DynamicVisibility"])
            propagation.retry(
                lambda: raise_visibility(table, clients("sqs"), queues, seconds), sleep
            )
    settle, timeout = float(after["Settle"]), float(after["Timeout"])
    removal = Removal(clients("sqs"), settle, timeout, sleep=sleep)
    discard = after.get("Discard", ())
    propagation.retry(
        lambda: removal.require_empty(before["Queues"], after["Queues"], discard), sleep
    )
