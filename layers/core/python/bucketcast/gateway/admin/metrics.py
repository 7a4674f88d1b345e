"""MinIO's metrics of notifications, as Prometheus reads them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from bucketcast.deployment.status import TargetStats
from bucketcast.destination import Destination, TargetArn
from bucketcast.topics.aws.metrics import Pubsub


class _Metric(NamedTuple):
    name: str
    help: str
    number: Callable[[TargetStats], int]


def _in_flight(target: TargetStats) -> int:
    return target.in_flight or 0


def _failed(target: TargetStats) -> int:
    return target.counts.failed + target.counts.dead


_BY_TARGET: Final = (
    _Metric(
        "target_total_events",
        "Events sent to the target, failed tries too",
        lambda target: target.counts.sent + _failed(target),
    ),
    _Metric("target_failed_events", "Tries to send an event that failed", _failed),
    _Metric("target_current_send_in_progress", "Messages of events being sent", _in_flight),
    _Metric(
        "target_queue_length",
        "Messages of events that wait for the target",
        lambda target: target.waiting or 0,
    ),
)
_TOTALS: Final = (
    _Metric("current_send_in_progress", "Messages of events being sent to all targets", _in_flight),
    _Metric("events_errors_total", "Tries to send an event that failed", _failed),
    _Metric(
        "events_sent_total", "Events that reached their target", lambda target: target.counts.sent
    ),
    _Metric(
        "events_skipped_total",
        "Events for targets that are not there",
        lambda target: target.counts.skipped,
    ),
)
_PUBSUB: Final = {
    "event_triggered": "Events that have a topic, one for each notification",
    "event_lost": "Events that have a topic and were given up",
    "push_ok": "Events that were pushed to the endpoint of a topic",
    "push_fail": "Tries to push an event to the endpoint of a topic that failed",
    "push_pending": "Messages of events being pushed to the endpoints of topics",
}
_GAUGES: Final = ("in_progress", "length", "pending", "failing")


def cluster(stats: Sequence[TargetStats], server: str, topics: Pubsub) -> str:
    """Return the metrics of `/minio/v2/metrics/cluster`, and Ceph's counters of topics."""
    server_labels = _labels(server=server)
    lines: list[str] = []
    for name, help_text, number in _TOTALS:
        lines += _family(
            f"minio_notify_{name}", help_text, {server_labels: sum(map(number, stats))}
        )
    for name, help_text, number in _BY_TARGET:
        numbers = {_target_labels(target.arn, server): number(target) for target in stats}
        lines += _family(f"minio_notify_{name}", help_text, numbers)
    help_text = "1 if the target fails or cannot be reached, by its last events"
    failing = {
        _target_labels(target.arn, server): int(target.state in ("failing", "offline"))
        for target in stats
    }
    lines += _family("bucketcast_target_failing", help_text, failing)
    for name, count in topics._asdict().items():
        lines += _family(f"pubsub_{name}", _PUBSUB[name], {server_labels: count})
    return "\n".join(lines) + "\n"


def _family(name: str, help_text: str, numbers: Mapping[str, int]) -> list[str]:
    """Return the lines of a metric with its numbers by their labels; none without a number."""
    kind = "gauge" if name.endswith(_GAUGES) else "counter"
    lines = [f"{name}{labels} {number}" for labels, number in numbers.items()]
    return [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}", *lines] if lines else []


def _target_labels(arn: str, server: str) -> str:
    named = Destination.of(arn)
    if isinstance(named, TargetArn):
        return _labels(server=server, target_id=named.id, target_name=named.type)
    return _labels(server=server, target_id=arn, target_name="topic")


def _labels(**labels: str) -> str:
    pairs = (f'{name}="{_escape(value)}"' for name, value in labels.items())
    return "{" + ",".join(pairs) + "}"


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
