"""MinIO's metrics of notifications, as Prometheus reads them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from bucketcast.deployment.stats import TargetStats
from bucketcast.destination import Destination, TargetArn
from bucketcast.topics.aws.metrics import Pubsub


class _Metric(NamedTuple):
    name: str
    about: str
    number: Callable[[TargetStats], int]


def _in_flight(target: TargetStats) -> int:
    return target.in_flight or 0


def _failed(target: TargetStats) -> int:
    return target.counts.failed + target.counts.dead


_OF_EACH: Final = (
    _Metric(
        "target_total_events",
        "Events sent to the target, failed tries too",
        lambda each: each.counts.sent + _failed(each),
    ),
    _Metric("target_failed_events", "Tries to send an event that failed", _failed),
    _Metric("target_current_send_in_progress", "Messages of events being sent", _in_flight),
    _Metric(
        "target_queue_length",
        "Messages of events that wait for the target",
        lambda each: each.waiting or 0,
    ),
)
# The totals of all targets: v2 adds them to the targets' values, v3 has only them.
_SUMS: Final = (
    _Metric("current_send_in_progress", "Messages of events being sent to all targets", _in_flight),
    _Metric("events_errors_total", "Tries to send an event that failed", _failed),
    _Metric("events_sent_total", "Events that reached their target", lambda each: each.counts.sent),
    _Metric(
        "events_skipped_total",
        "Events for targets that are not there",
        lambda each: each.counts.skipped,
    ),
)
_PUBSUB: Final = {
    "event_triggered": "Events that have a topic, one for each notification",
    "event_lost": "Events that have a topic and were given up",
    "push_ok": "Events that were pushed to the endpoint of a topic",
    "push_fail": "Tries to push an event to the endpoint of a topic that failed",
    "push_pending": "Messages of events being pushed to the endpoints of topics",
}
_GAUGES: Final = ("in_progress", "length", "pending")


def cluster(found: Sequence[TargetStats], server: str, topics: Pubsub) -> str:
    """Return the metrics of `/minio/v2/metrics/cluster`, and Ceph's counters of topics."""
    here = _labels(server=server)
    lines: list[str] = []
    for name, about, number in _SUMS:
        lines += _family(f"minio_notify_{name}", about, {here: sum(map(number, found))})
    for name, about, number in _OF_EACH:
        numbers = {_target(each.arn, server): number(each) for each in found}
        lines += _family(f"minio_notify_{name}", about, numbers)
    for name, counted in topics._asdict().items():
        lines += _family(f"pubsub_{name}", _PUBSUB[name], {here: counted})
    return "\n".join(lines) + "\n"


def notification(found: Sequence[TargetStats], server: str, _: Pubsub) -> str:
    """Return the metrics of `/minio/metrics/v3/notification`, all of them counters as in MinIO."""
    lines: list[str] = []
    for name, about, number in _SUMS:
        numbers = {_labels(server=server): sum(map(number, found))}
        lines += _family(f"minio_notification_{name}", about, numbers, "counter")
    return "\n".join(lines) + "\n"


def _family(name: str, about: str, numbers: Mapping[str, int], kind: str = "") -> list[str]:
    """Return the lines of a metric with its numbers by their labels; none without a number."""
    kind = kind or ("gauge" if name.endswith(_GAUGES) else "counter")
    lines = [f"{name}{labels} {number}" for labels, number in numbers.items()]
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}", *lines] if lines else []


def _target(arn: str, server: str) -> str:
    named = Destination.of(arn)
    if isinstance(named, TargetArn):
        return _labels(server=server, target_id=named.id, target_name=named.type)
    return _labels(server=server, target_id=arn, target_name="topic")


def _labels(**labels: str) -> str:
    pairs = (f'{name}="{_escaped(text)}"' for name, text in labels.items())
    return "{" + ",".join(pairs) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
