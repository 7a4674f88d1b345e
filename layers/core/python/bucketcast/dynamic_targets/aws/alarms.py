"""The alarms of dynamic targets, equal to those that a deploy creates."""

from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from bucketcast.delivery import alarms
from bucketcast.delivery.queue_names import base_name
from bucketcast.state.dynamic_targets import DynamicTarget

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient

_UNKNOWN = ("ResourceNotFound", "ResourceNotFoundException")


class Alarms:
    """Creates and removes alarms of a stack; `topic` is the ARN that they notify, "" for none."""

    def __init__(self, client: "CloudWatchClient", stack: str, topic: str = "") -> None:
        self._stack = stack
        self._client = client
        self._actions = [topic] if topic else []

    def make(self, target: DynamicTarget) -> None:
        """Create or update the alarms of a target."""
        name, off = base_name(target.queue), target.state == "off"
        for alarm in alarms.queue_alarms(
            self._stack, name, target.name, target.queue, target.dead, off=off
        ):
            self._client.put_metric_alarm(**alarm, AlarmActions=self._actions)

    def remove(self, queue: str) -> None:
        """Remove the alarms of a queue, if there are any."""
        names = alarms.queue_alarm_names(base_name(queue))
        if not self._delete(names):
            # CloudWatch deletes none if one does not exist.
            for name in names:
                self._delete([name])

    def _delete(self, names: list[str]) -> bool:
        """Delete alarms; return False if one of them does not exist."""
        try:
            self._client.delete_alarms(AlarmNames=names)
        except ClientError as error:
            if error.response["Error"]["Code"] not in _UNKNOWN:
                raise
            return False
        return True
