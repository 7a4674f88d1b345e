"""The alarms of run-time targets, which a call makes as a deploy makes a target's.

What the function of a kind does is watched once, by the stack, for all targets of the kind.
"""

from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from bucketcast import alarms
from bucketcast.runtime.model import RuntimeTarget

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient

_SERVICE = "dispatch"
_UNKNOWN = ("ResourceNotFound", "ResourceNotFoundException")


class Alarms:
    """Makes and removes them; `topic` is the ARN of whom they tell, "" for nobody."""

    def __init__(self, client: "CloudWatchClient", topic: str = "") -> None:
        self._client = client
        self._topic = topic

    def make(self, target: RuntimeTarget) -> None:
        """Make the alarms of a target, or bring those that it has to what it is now."""
        about = {"service": _SERVICE, "target": target.arn}
        paused = target.state == "off"
        told = {"AlarmActions": [self._topic], "OKActions": [self._topic]} if self._topic else {}
        for each in alarms.of_queue(
            _name(target.queue), target.queue, target.dead, about, paused=paused
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
                **told,
            }
            self._client.put_metric_alarm(**wanted)

    def remove(self, queue: str) -> None:
        """Remove those of a queue; that there are none is no error."""
        names = [f"{_name(queue)}-{each.part}" for each in alarms.of_queue("", "", "", {})]
        try:
            self._client.delete_alarms(AlarmNames=names)
        except ClientError as error:
            if not _is_unknown(error):
                raise
            # Where one is unknown, none is deleted.
            for name in names:
                self._remove_one(name)

    def _remove_one(self, name: str) -> None:
        try:
            self._client.delete_alarms(AlarmNames=[name])
        except ClientError as error:
            if not _is_unknown(error):
                raise


def _name(queue: str) -> str:
    return queue.removesuffix(".fifo")


def _is_unknown(error: ClientError) -> bool:
    return error.response.get("Error", {}).get("Code", "") in _UNKNOWN
