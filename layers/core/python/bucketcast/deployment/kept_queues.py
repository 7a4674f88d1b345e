"""The queues that CloudFormation kept of targets that are not deployed any more."""

from collections.abc import Iterator

from bucketcast import targets
from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.delivery.queue_names import DEAD_END, base_name
from bucketcast.deployment import Deployed


def kept_queues(deployment: Deployed, aws: Aws) -> Iterator[tuple[str, str]]:
    """Yield the URLs of each such queue, and of its dead-letter queue, which still exists.

    Raises:
        AwsError: SQS refused to list queues.
    """
    prefix = f"{deployment.stack}-"
    known = {target.dead.rpartition("/")[2] for target in deployment.all_targets}
    base = deployment.ingress_queue.rpartition("/")[0]
    with aws_errors():
        pages = aws.sqs.get_paginator("list_queues").paginate(
            QueueNamePrefix=prefix, PaginationConfig={"PageSize": 1_000}
        )
        names = [url.rpartition("/")[2] for page in pages for url in page.get("QueueUrls", ())]
    for name in names:
        plain = base_name(name)
        kind = plain.removeprefix(deployment.dynamic.prefix).removeprefix(prefix).partition("-")[0]
        if name not in known and plain.endswith(DEAD_END) and kind in targets.kinds():
            own = plain.removesuffix(DEAD_END) + name[len(plain) :]
            yield f"{base}/{own}", f"{base}/{name}"
