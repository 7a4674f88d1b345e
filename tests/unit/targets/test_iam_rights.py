"""The rights that a target's role needs to log in to its service."""

from typing import Any

import pytest

from bucketcast import targets
from bucketcast.settings.options import read
from tests.unit.targets.test_iam import HERE, RIGHT

CACHE, MEMORY = f"arn:aws:elasticache:{HERE}", f"arn:aws:memorydb:{HERE}"
COLLECTION = f"arn:aws:aoss:{HERE}:collection/abc"
KAFKA, IOT = f"arn:aws:kafka:{HERE}", f"arn:aws:iot:{HERE}"
CLUSTER = [
    "kafka-cluster:Connect",
    "kafka-cluster:DescribeCluster",
    "kafka-cluster:WriteDataIdempotently",
]
WRITE = ["kafka-cluster:DescribeTopic", "kafka-cluster:WriteData"]
METHODS = ["es:ESHttpDelete", "es:ESHttpGet", "es:ESHttpPost", "es:ESHttpPut"]


@pytest.mark.parametrize(
    ("kind", "changes", "rights"),
    [
        ("postgres", {}, {("rds-db:connect",): [RIGHT["postgres"]["iam_resource"]]}),
        ("mysql", {}, {("rds-db:connect",): [RIGHT["mysql"]["iam_resource"]]}),
        (
            "redis",
            {"iam_resource": f"{CACHE}:serverlesscache:events"},
            {
                ("elasticache:Connect",): [
                    f"{CACHE}:serverlesscache:events",
                    f"{CACHE}:user:bucketcast",
                ]
            },
        ),
        (
            "redis",
            {"iam_resource": f"{MEMORY}:cluster/events"},
            {("memorydb:connect",): [f"{MEMORY}:cluster/events", f"{MEMORY}:user/bucketcast"]},
        ),
        ("elasticsearch", {}, {(*METHODS,): [f"arn:aws:es:{HERE}:domain/events/*"]}),
        (
            "elasticsearch",
            {"iam_resource": COLLECTION, "format": "access"},
            {("aoss:APIAccessAll",): [COLLECTION]},
        ),
        (
            "kafka",
            {},
            {
                (*CLUSTER,): [f"{KAFKA}:cluster/events/0123-1"],
                (*WRITE,): [f"{KAFKA}:topic/events/0123-1/events"],
            },
        ),
        (
            "mqtt",
            {"client_id": "hall"},
            {
                ("iot:Connect",): [f"{IOT}:client/hall*"],
                ("iot:Publish",): [f"{IOT}:topic/bucketevents"],
            },
        ),
    ],
)
def test_a_login_needs_these_rights_and_no_others(
    kind: str, changes: dict[str, str], rights: dict[tuple[str, ...], list[str]]
) -> None:
    declared: Any = targets.load(kind).Settings
    settings = read(declared, RIGHT[kind] | changes)
    needed = {tuple(sorted(right.actions)): [*right.resources] for right in settings.iam_rights()}
    assert needed == {tuple(sorted(actions)): on for actions, on in rights.items()}
