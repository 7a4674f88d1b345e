"""The AWS resources of a dynamic target: queues, an event source mapping, alarms, a secret.

Every call is idempotent: existing resources are reused, missing ones are no error. For some 15
seconds after a call, Lambda refuses changes of a mapping that it is still creating or removing. A
new SQS queue may not be visible to Lambda at once.
"""

import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

from botocore.exceptions import ClientError

from bucketcast.aws.clients import Aws
from bucketcast.delivery import alarms
from bucketcast.delivery.queue import NO_QUEUE, Queue, code_of, make_queue, remove_queue
from bucketcast.delivery.queue_names import base_name, dead_of
from bucketcast.deployment import DynamicSetup
from bucketcast.destination import short_name
from bucketcast.errors import BucketcastError
from bucketcast.limits import BATCH_MESSAGES, DAY, MAX_RECEIVES, RETENTION_DAYS
from bucketcast.state.items import DynamicTarget, Resource

T = TypeVar("T")
TIMEOUT_SECONDS: Final = 60.0
_PAUSE_SECONDS: Final = 1.0
_UNSETTLED: Final = ("ResourceInUseException", "ResourceConflictException")
_NO_ALARM: Final = ("ResourceNotFound", "ResourceNotFoundException")


class UnsettledError(BucketcastError):
    """Lambda is still creating or removing a mapping; a later call will succeed."""


class Resources:
    """Creates and removes resources; `timeout` is the time limit for an unsettled mapping."""

    def __init__(
        self, stack: str, setup: DynamicSetup, aws: Aws, *, timeout: float = TIMEOUT_SECONDS
    ) -> None:
        self._stack = stack
        self._setup = setup
        self._sqs = aws.sqs
        self._functions = aws.mappings
        self._secrets = aws.secretsmanager
        self._cloudwatch = aws.cloudwatch
        self._timeout = timeout

    def make(self, resource: Resource, target: DynamicTarget, secret: str) -> None:
        """Create a resource of a target, with the text of its secret.

        Raises:
            UnsettledError: an earlier mapping of the queue is still being removed.
        """
        if resource.kind == "queue":
            self._make_queues(target)
        elif resource.kind == "secret":
            self._make_secret(resource.name, secret)
        elif resource.kind == "mapping":
            self.map(target)
        else:
            self.make_alarms(target)

    def remove(self, resource: Resource) -> None:
        """Remove a resource, if it exists.

        Raises:
            UnsettledError: Lambda is still creating the mapping.
        """
        if resource.kind == "queue":
            self._remove_queues(resource.name)
        elif resource.kind == "secret":
            self._remove_secret(resource.name)
        elif resource.kind == "mapping":
            self._unmap(resource)
        else:
            self._remove_alarms(resource.name)

    def make_alarms(self, target: DynamicTarget) -> None:
        """Create or update the alarms of a target, equal to those that a deploy creates."""
        name, off = base_name(target.queue), target.state == "off"
        actions = [self._setup.topic] if self._setup.topic else []
        for alarm in alarms.queue_alarms(
            self._stack, name, short_name(target.arn), target.queue, target.dead, off=off
        ):
            self._cloudwatch.put_metric_alarm(**alarm, AlarmActions=actions)

    def _remove_alarms(self, queue: str) -> None:
        for name in alarms.queue_alarm_names(base_name(queue)):
            # One by one: CloudWatch deletes none if one does not exist.
            delete = partial(self._cloudwatch.delete_alarms, AlarmNames=[name])
            self._ignore_errors(delete, *_NO_ALARM)

    def _make_queues(self, target: DynamicTarget) -> None:
        """Create the target's queue and dead-letter queue, like those of a deployed target."""
        retention = str(RETENTION_DAYS * DAY)
        redrive = {
            "deadLetterTargetArn": self._setup.arn(target.dead),
            "maxReceiveCount": str(MAX_RECEIVES),
        }
        make = partial(
            make_queue, client=self._sqs, key=self._setup.kms_key, MessageRetentionPeriod=retention
        )
        make(target.dead)
        make(
            target.queue,
            VisibilityTimeout=str(self._setup.visibility),
            RedrivePolicy=json.dumps(redrive),
        )

    def _remove_queues(self, queue: str) -> None:
        for url in map(self._setup.url, (queue, dead_of(queue))):
            remove_queue(url, self._sqs)

    def waiting(self, queue: str) -> int:
        """Count the messages in a queue, in flight and delayed too; 0 if it does not exist."""
        queue_depth = self._ignore_errors(
            lambda: Queue(self._setup.url(queue), self._sqs).depth, *NO_QUEUE
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
            states = self._mappings(target.queue, target.kind)
            if any(state != "Deleting" for state in states.values()):
                return True
            if states:
                return False
            try:
                self._functions.create_event_source_mapping(**mapping)
            except ClientError as error:
                if code_of(error) in _UNSETTLED or "NonExistentQueue" in str(error):
                    return False
                raise
            return True

        self._retry(create, f"the mapping of {target.queue} is not made")

    def _unmap(self, mapping: Resource) -> None:
        def remove() -> bool:
            remaining = [
                mapping_id
                for mapping_id, state in self._mappings(mapping.name, mapping.reader).items()
                if state != "Deleting"
            ]
            for mapping_id in remaining:
                try:
                    self._functions.delete_event_source_mapping(UUID=mapping_id)
                except ClientError as error:
                    if code_of(error) in _UNSETTLED:
                        return False
                    if code_of(error) != "ResourceNotFoundException":
                        raise
            return True

        self._retry(remove, f"the mapping of {mapping.name} is not removed")

    def _make_secret(self, name: str, text: str) -> None:
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

    def _remove_secret(self, name: str) -> None:
        """Delete a secret without recovery, since its name is never used again."""
        self._ignore_errors(
            lambda: self._secrets.delete_secret(SecretId=name, ForceDeleteWithoutRecovery=True),
            "ResourceNotFoundException",
        )

    def _mappings(self, queue: str, kind: str) -> dict[str, str]:
        """Return the states of a queue's mappings to the function of a kind, by id."""
        answer = self._functions.list_event_source_mappings(EventSourceArn=self._setup.arn(queue))
        return {
            mapping["UUID"]: mapping.get("State", "")
            for mapping in answer["EventSourceMappings"]
            if mapping["FunctionArn"].endswith(f":{self._setup.prefix}{kind}")
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
            if code_of(error) not in codes:
                raise
            return None
