"""The alarms of run-time targets, equal to those that a deploy creates.

The stack's own alarms watch the function of a kind, for all its targets.
"""

from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from bucketcast.delivery import alarms
from bucketcast.runtime.model import RuntimeTarget

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient

_SERVICE = "dispatch"
_UNKNOWN = ("ResourceNotFound", "ResourceNotFoundException")


class Alarms:
    """Creates and removes alarms of a stack; `topic` is the ARN that they notify, "" for none."""

    def __init__(self, client: "CloudWatchClient", stack: str, topic: str = "") -> None:
        self._stack = stack
        self._client = client
        self._topic = topic

    def make(self, target: RuntimeTarget) -> None:
        """Create or update the alarms of a target."""
        about = {"service": _SERVICE, "target": target.arn}
        paused = target.state == "off"
        actions = {"AlarmActions": [self._topic], "OKActions": [self._topic]} if self._topic else {}
        for each in alarms.of_queue(
            self._stack, _name(target.queue), target.queue, target.dead, about, paused=paused
        ):
            unit = {"Unit": each.unit} if each.unit else {}
            wanted: Any = {
                "AlarmName": f"{_name(target.queue)}-{each.part}",
                "AlarmDescription": each.description,
                "Namespace": each.namespace,
                "MetricName": each.metric,
                "Dimensions": [
                    {"Name": name, "Value": value} for name, value in each.dimensions.items()
                ],
                "Statistic": each.statistic,
                "Period": each.period,
                "EvaluationPeriods": each.among,
                "DatapointsToAlarm": each.at_least,
                "Threshold": each.threshold,
                "ComparisonOperator": "GreaterThanThreshold",
                "TreatMissingData": "notBreaching",
                **unit,
                **actions,
            }
            self._client.put_metric_alarm(**wanted)

    def remove(self, queue: str) -> None:
        """Remove the alarms of a queue, if there are any."""
        names = [f"{_name(queue)}-{each.part}" for each in alarms.of_queue("", "", "", "", {})]
        if not self._delete(names):
            # If one does not exist, none is deleted.
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


def _name(queue: str) -> str:
    return queue.removesuffix(".fifo")
