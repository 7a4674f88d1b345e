"""Read the queues' lengths and policies."""

from collections.abc import Iterable, Iterator

from botocore.exceptions import ClientError

from bucketcast.aws.clients import Aws
from bucketcast.delivery.queue import NO_QUEUE, Queue, code_of
from bucketcast.delivery.queue_names import dead_of
from bucketcast.deployment import Deployed
from bucketcast.deployment.kept_queues import kept_queues
from bucketcast.diagnose import queues as checks
from bucketcast.diagnose.aws import report_unread, run_parallel
from bucketcast.finding import Finding
from bucketcast.notifications.aws.ingress import Ingress
from bucketcast.notifications.policy import Caller


def findings(deployment: Deployed, aws: Aws) -> Iterator[Finding]:
    """Check each target's queues, the ingress queue, and its policy."""
    ingress = deployment.ingress_queue
    queues = [("ingress", ingress, dead_of(ingress))]
    queues += [(target.arn, target.queue, target.dead) for target in deployment.targets]

    def check(item: tuple[str, str, str]) -> Iterator[Finding]:
        return report_unread("queue", item[0], _queue(*item, aws))

    yield from run_parallel(check, queues)
    yield from report_unread("queue", "removed targets", _kept(deployment, aws))
    yield from report_unread(checks.POLICY, "ingress", _policies(deployment, aws))


def _queue(subject: str, queue: str, dead: str, aws: Aws) -> Iterator[Finding]:
    counts = []
    for url in (queue, dead):
        name = url.rpartition("/")[2]
        try:
            counts.append(Queue(url, aws.sqs).depth.all)
        except ClientError as error:
            if code_of(error) not in NO_QUEUE:
                raise
            yield checks.missing_queue(subject, name)
            return
    yield checks.check_queue(subject, queue.rpartition("/")[2], *counts)


def _kept(deployment: Deployed, aws: Aws) -> Iterator[Finding]:
    for queue, dead in kept_queues(deployment, aws):
        waiting, given_up = (Queue(url, aws.sqs).depth.all for url in (queue, dead))
        yield checks.check_kept(queue.rpartition("/")[2], waiting, given_up)


def _policies(deployment: Deployed, aws: Aws) -> Iterator[Finding]:
    ingress = Ingress.of(deployment, aws)
    for caller in ingress.callers.values():
        yield checks.check_policy(checks.POLICY, ingress.queue, ingress.policy, caller)
    if deployment.kms_key:
        findings = _key_policies(ingress.callers.values(), deployment.kms_key, aws)
        yield from report_unread(checks.KEY_POLICY, "ingress", findings)


def _key_policies(callers: Iterable[Caller], key: str, aws: Aws) -> Iterator[Finding]:
    policy = aws.kms.get_key_policy(KeyId=key, PolicyName="default")
    for caller in callers:
        yield checks.check_policy(checks.KEY_POLICY, key, policy["Policy"], caller)
