"""The AWS resources of a dynamic target: queues, an event source mapping, a secret.

Every call is idempotent: existing resources are reused, missing ones are no error. For some 15
seconds after a call, Lambda refuses changes of a mapping that it is still creating or removing. A
new SQS queue may not be visible to Lambda at once.
"""

import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from botocore.exceptions import ClientError

from bucketcast.delivery.queue import depth
from bucketcast.delivery.queue_names import dead_of, encryption, order
from bucketcast.deployment import DynamicSetup
from bucketcast.errors import BucketcastError
from bucketcast.limits import BATCH_MESSAGES, DAY, MAX_RECEIVES, RETENTION_DAYS
from bucketcast.state.dynamic_targets import DynamicTarget

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_secretsmanager import SecretsManagerClient
    from mypy_boto3_sqs import SQSClient

T = TypeVar("T")
TIMEOUT_SECONDS: Final = 60.0
_PAUSE_SECONDS: Final = 1.0
_UNSETTLED: Final = ("ResourceInUseException", "ResourceConflictException")
_NO_QUEUE: Final = ("AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist")


class UnsettledError(BucketcastError):
    """Lambda is still creating or removing a mapping; a later call will succeed."""


class Resources:
    """Creates and removes resources; `timeout` is the time limit for an unsettled mapping."""

    def __init__(
        self,
        setup: DynamicSetup,
        sqs: "SQSClient",
        functions: "LambdaClient",
        secrets: "SecretsManagerClient",
        *,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        self._setup = setup
        self._sqs = sqs
        self._functions = functions
        self._secrets = secrets
        self._timeout = timeout

    def make_queues(self, target: DynamicTarget) -> None:
        """Create the target's queue and dead-letter queue, like those of a deployed target."""
        common = {
            "MessageRetentionPeriod": str(RETENTION_DAYS * DAY),
            **encryption(self._setup.kms_key),
            **order(target.queue),
        }
        redrive = {
            "deadLetterTargetArn": self._setup.arn(target.dead),
            "maxReceiveCount": str(MAX_RECEIVES),
        }
        more = {
            "VisibilityTimeout": str(self._setup.visibility),
            "RedrivePolicy": json.dumps(redrive),
        }
        self._make_queue(target.dead, common)
        self._make_queue(target.queue, {**common, **more})

    def remove_queues(self, queue: str) -> None:
        """Remove a queue and its dead-letter queue, if they exist."""
        for url in map(self._setup.url, (queue, dead_of(queue))):
            self._ignore_errors(partial(self._sqs.delete_queue, QueueUrl=url), *_NO_QUEUE)

    def waiting(self, queue: str) -> int:
        """Count the messages in a queue, in flight and delayed too; 0 if it does not exist."""
        queue_depth = self._ignore_errors(
            partial(depth, self._setup.url(queue), self._sqs), *_NO_QUEUE
        )
        return queue_depth.all if queue_depth else 0

    def map(self, target: DynamicTarget) -> None:
        """Map the target's queue to the function of its kind.

        Raises:
            UnsettledError: an earlier mapping of the queue is still being removed.
        """
        limit = self._setup.max_concurrency
        mapping: Any = {
            "EventSourceArn": self._setup.arn(target.queue),
            "FunctionName": self._setup.functions[target.kind],
            "BatchSize": BATCH_MESSAGES,
            "FunctionResponseTypes": ["ReportBatchItemFailures"],
            **({"ScalingConfig": {"MaximumConcurrency": limit}} if limit else {}),
        }

        def create() -> bool:
            states = self._mappings(target.queue)
            if any(state != "Deleting" for state in states.values()):
                return True
            if states:
                return False
            try:
                self._functions.create_event_source_mapping(**mapping)
            except ClientError as error:
                if _code(error) in _UNSETTLED or "NonExistentQueue" in str(error):
                    return False
                raise
            return True

        self._retry(create, f"the mapping of {target.queue} is not made")

    def unmap(self, queue: str) -> None:
        """Remove a queue's mapping.

        Raises:
            UnsettledError: Lambda is still creating the mapping.
        """

        def remove() -> bool:
            remaining = [
                mapping_id
                for mapping_id, state in self._mappings(queue).items()
                if state != "Deleting"
            ]
            for mapping in remaining:
                try:
                    self._functions.delete_event_source_mapping(UUID=mapping)
                except ClientError as error:
                    if _code(error) in _UNSETTLED:
                        return False
                    if _code(error) != "ResourceNotFoundException":
                        raise
            return True

        self._retry(remove, f"the mapping of {queue} is not removed")

    def make_secret(self, name: str, text: str) -> None:
        self._ignore_errors(
            lambda: self._secrets.create_secret(
                Name=name, SecretString=text, Description="A dynamic target of Bucketcast"
            ),
            "ResourceExistsException",
        )

    def read_secret(self, name: str) -> Mapping[str, str]:
        """Return the fields of a secret; none if it does not exist."""
        if not name:
            return {}
        answer = self._ignore_errors(
            lambda: self._secrets.get_secret_value(SecretId=name), "ResourceNotFoundException"
        )
        values: Mapping[str, str] = json.loads(answer["SecretString"]) if answer else {}
        return values

    def remove_secret(self, name: str) -> None:
        """Delete a secret without recovery, since its name is never used again."""
        self._ignore_errors(
            lambda: self._secrets.delete_secret(SecretId=name, ForceDeleteWithoutRecovery=True),
            "ResourceNotFoundException",
        )

    def _make_queue(self, name: str, attributes: Mapping[str, str]) -> None:
        arn = self._setup.arn(name)
        # TLS only, as for deployed queues.
        deny_plain_http = {
            "Effect": "Deny",
            "Principal": {"AWS": "*"},
            "Action": "sqs:*",
            "Resource": arn,
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        }
        policy = {"Version": "2012-10-17", "Statement": [deny_plain_http]}
        queue_attributes: Any = {**attributes, "Policy": json.dumps(policy)}
        self._sqs.create_queue(QueueName=name, Attributes=queue_attributes)

    def _mappings(self, queue: str) -> dict[str, str]:
        """Return the states of a queue's mappings by id."""
        answer = self._functions.list_event_source_mappings(EventSourceArn=self._setup.arn(queue))
        return {
            mapping["UUID"]: mapping.get("State", "") for mapping in answer["EventSourceMappings"]
        }

    def _retry(self, done: Callable[[], bool], message: str) -> None:
        deadline = time.monotonic() + self._timeout
        while not done():
            if time.monotonic() > deadline:
                raise UnsettledError(f"{message}: Lambda is at work on it; try again in a minute")
            time.sleep(_PAUSE_SECONDS)

    @staticmethod
    def _ignore_errors(call: Callable[[], T], *codes: str) -> T | None:
        try:
            return call()
        except ClientError as error:
            if _code(error) not in codes:
                raise
            return None


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))
