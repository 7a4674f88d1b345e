"""MinIO's metrics of notifications, as Prometheus reads them."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from bucketcast.arn import Arn
from bucketcast.aws.target_stats import TargetStats
from bucketcast.aws.topics.metrics import Pubsub
from bucketcast.topics.model import is_topic


class _Metric(NamedTuple):
    name: str
    about: str
    type: str


_TOTAL: Final = _Metric(
    "minio_notify_target_total_events", "Events sent to the target, failed tries too", "counter"
)
_FAILED: Final = _Metric(
    "minio_notify_target_failed_events", "Tries to send an event that failed", "counter"
)
_SENDING: Final = _Metric(
    "minio_notify_target_current_send_in_progress", "Messages of events being sent", "gauge"
)
_WAITING: Final = _Metric(
    "minio_notify_target_queue_length", "Messages of events that wait for the target", "gauge"
)
# The totals of all targets: v2 adds them to the targets' values, v3 has only them.
_SUMS: Final = (
    ("current_send_in_progress", "Messages of events being sent to all targets"),
    ("events_errors_total", "Tries to send an event that failed"),
    ("events_sent_total", "Events that reached their target"),
    ("events_skipped_total", "Events for targets that are not there"),
)


_PUBSUB: Final = {
    "event_triggered": "Events that have a topic, one for each notification",
    "event_lost": "Events that have a topic and were given up",
    "push_ok": "Events that were pushed to the endpoint of a topic",
    "push_fail": "Tries to push an event to the endpoint of a topic that failed",
    "push_pending": "Messages of events being pushed to the endpoints of topics",
}


def cluster(found: Sequence[TargetStats], server: str, topics: Pubsub) -> str:
    """Return the metrics of `/minio/v2/metrics/cluster`, and Ceph's counters of topics."""
    lines: list[str] = []
    for name, about, number in _sums(found):
        kind = "gauge" if name.startswith("current") else "counter"
        metric = _Metric(f"minio_notify_{name}", about, kind)
        lines += _family(metric, [(_labels(server=server), number)])
    for metric, numbers in (
        (_TOTAL, [each.counts.sent + each.counts.failed + each.counts.dead for each in found]),
        (_FAILED, [each.counts.failed + each.counts.dead for each in found]),
        (_SENDING, [each.in_flight or 0 for each in found]),
        (_WAITING, [each.waiting or 0 for each in found]),
    ):
        labelled = [
            (_target(each.arn, server), number) for each, number in zip(found, numbers, strict=True)
        ]
        lines += _family(metric, labelled)
    for name, number in topics._asdict().items():
        kind = "gauge" if name.endswith("pending") else "counter"
        metric = _Metric(f"pubsub_{name}", _PUBSUB[name], kind)
        lines += _family(metric, [(_labels(server=server), number)])
    return "\n".join(lines) + "\n"


def notification(found: Sequence[TargetStats], server: str, _: Pubsub) -> str:
    """Return the metrics of `/minio/metrics/v3/notification`, all of them counters as in MinIO."""
    lines: list[str] = []
    for name, about, number in _sums(found):
        metric = _Metric(f"minio_notification_{name}", about, "counter")
        lines += _family(metric, [(_labels(server=server), number)])
    return "\n".join(lines) + "\n"


def _sums(found: Sequence[TargetStats]) -> list[tuple[str, str, int]]:
    numbers = (
        sum(each.in_flight or 0 for each in found),
        sum(each.counts.failed + each.counts.dead for each in found),
        sum(each.counts.sent for each in found),
        sum(each.counts.skipped for each in found),
    )
    return [(name, about, number) for (name, about), number in zip(_SUMS, numbers, strict=True)]


def _family(metric: _Metric, numbers: Iterable[tuple[str, int]]) -> list[str]:
    lines = [f"{metric.name}{labels} {number}" for labels, number in numbers]
    if not lines:
        return []
    return [
        f"# HELP {metric.name} {metric.about}",
        f"# TYPE {metric.name} {metric.type}",
        *lines,
    ]


def _target(arn: str, server: str) -> str:
    if is_topic(arn):
        return _labels(server=server, target_id=arn, target_name="topic")
    named = Arn.parse(arn)
    return _labels(server=server, target_id=named.id, target_name=named.type)


def _labels(**labels: str) -> str:
    pairs = (f'{name}="{_escaped(text)}"' for name, text in labels.items())
    return "{" + ",".join(pairs) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
