"""MinIO's metrics of notifications in Prometheus' text, and the token that they are asked with."""

import asyncio
import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from bucketcast.deployment.status import TargetStats
from bucketcast.gateway.admin import metrics, prometheus_token
from bucketcast.state.counters import Counts
from bucketcast.topics.aws.metrics import Pubsub, sum_pubsub
from bucketcast.users import User
from bucketcast.web.errors import S3Error
from tests.unit.web.requests import ACCESS, ANNA, SECRET, find

FOUND = [
    TargetStats("arn:minio:sqs::1:webhook", Counts(sent=10, failed=2, dead=1), 3, 4, "failing"),
    TargetStats('arn:minio:sqs::a"b:redis', Counts(skipped=7), None, None),
]
NOW = datetime(2026, 11, 22, tzinfo=UTC)


def samples(text: str) -> dict[str, int]:
    """Name and labels, and the number."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {name: int(number) for name, _, number in (line.rpartition(" ") for line in lines)}


def test_the_metrics_of_v2() -> None:
    text = metrics.cluster(FOUND, "h:9100", Pubsub())
    of = '{server="h:9100",target_id="1",target_name="webhook"}'
    found = samples(text)
    assert found[f"minio_notify_target_total_events{of}"] == 13
    assert found[f"minio_notify_target_failed_events{of}"] == 3
    assert found[f"minio_notify_target_current_send_in_progress{of}"] == 3
    assert found[f"minio_notify_target_queue_length{of}"] == 4
    assert found['minio_notify_events_sent_total{server="h:9100"}'] == 10
    assert found['minio_notify_events_errors_total{server="h:9100"}'] == 3
    assert found['minio_notify_events_skipped_total{server="h:9100"}'] == 7
    assert found['minio_notify_current_send_in_progress{server="h:9100"}'] == 3
    assert 'target_id="a\\"b"' in text
    assert found[f"bucketcast_target_failing{of}"] == 1
    assert "# TYPE minio_notify_target_queue_length gauge" in text
    assert "# TYPE minio_notify_target_total_events counter" in text


def test_ceph_s_counters_of_topics() -> None:
    found = [
        *FOUND,
        TargetStats("arn:aws:sns:r:acme:once", Counts(sent=5, dead=2, skipped=1), 0, 0),
        TargetStats("arn:aws:sns:r::kept", Counts(sent=7, failed=3), 4, 9),
    ]
    text = metrics.cluster(found, "h", sum_pubsub(found, 20))
    sums = {name: value for name, value in samples(text).items() if name.startswith("pubsub")}
    assert sums == {
        'pubsub_event_triggered{server="h"}': 19,
        'pubsub_event_lost{server="h"}': 2,
        'pubsub_push_ok{server="h"}': 12,
        'pubsub_push_fail{server="h"}': 5,
        'pubsub_push_pending{server="h"}': 4,
    }
    assert "# TYPE pubsub_push_pending gauge" in text
    assert 'target_id="arn:aws:sns:r:acme:once",target_name="topic"' in text


def token(secret: str = SECRET, alg: str = "HS512", **claims: Any) -> str:
    claims_ = {"iss": "prometheus", "sub": ACCESS, "exp": NOW.timestamp() + 60, **claims}
    parts = [_encoded(json.dumps(each).encode()) for each in ({"alg": alg}, claims_)]
    signed = ".".join(parts)
    mac = hmac.new(secret.encode(), signed.encode(), hashlib.sha512).digest()
    return f"Bearer {signed}.{_encoded(mac)}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def user_of(authorization: str) -> User:
    return asyncio.run(prometheus_token.authenticate(authorization, find, NOW))


def test_the_token_that_mc_makes_is_accepted() -> None:
    assert user_of(token()) == ANNA


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer a.b.c",
        "Bearer " + "x" * 5_000,
        f"Bearer e30.{_encoded(b'[' * 2_000)}.x",
        token(secret="another"),
        token(alg="none"),
        token(sub="AKIANOBODY"),
        token(iss="else"),
        token(exp=NOW.timestamp() - 1),
        token(exp=None),
        token(exp="never"),
        token()[:-4],
    ],
)
def test_any_other_token_is_refused(authorization: str) -> None:
    with pytest.raises(S3Error) as refused:
        user_of(authorization)
    assert refused.value.code == "AccessDenied"
