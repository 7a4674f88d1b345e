"""What a function reads while it starts."""

import pytest

from bucketcast.errors import ConfigErrors
from bucketcast.settings.environment import (
    DeployedTargets,
    DispatchSettings,
    IngestSettings,
    ObjectFacts,
)

INGEST = {
    "BUCKETCAST_STATE_TABLE": "state",
    "BUCKETCAST_TARGET_QUEUES": "https://sqs/1/Bucketcast-*",
    "BUCKETCAST_INGRESS_DEAD_QUEUE_URL": "https://sqs/1/Bucketcast-ingress-dead",
    "BUCKETCAST_OBJECT_FACTS": ObjectFacts(frozenset({"uploads"}), {"arn": ["tags"]}).to_text(),
    "BUCKETCAST_TARGETS": DeployedTargets.of(["arn:minio:sqs::primary:webhook"]).to_text(),
}
DISPATCH = {
    "BUCKETCAST_KIND": "webhook",
    "BUCKETCAST_ID": "primary",
    "BUCKETCAST_SETTINGS": '{"endpoint": "https://example.org"}',
    "BUCKETCAST_QUEUE_URL": "own",
    "BUCKETCAST_DEAD_QUEUE_URL": "dead",
}


@pytest.mark.parametrize(
    ("kind", "given"), [(IngestSettings, INGEST), (DispatchSettings, DISPATCH)]
)
def test_all_missing_variables_are_named_at_once(
    kind: type[IngestSettings | DispatchSettings], given: dict[str, str]
) -> None:
    with pytest.raises(ConfigErrors) as refused:
        kind.from_environ({})
    assert [error.key for error in refused.value.errors] == list(given)
    for name in given:
        with pytest.raises(ConfigErrors, match=f"^{name}: not set; the stack sets it$"):
            kind.from_environ(given | {name: ""})


def test_deployed_targets_are_found_by_their_arns() -> None:
    arns = [f"arn:minio:sqs::target-number-{n}:elasticsearch" for n in range(50)]
    text = DeployedTargets.of(arns).to_text()
    deployed = DeployedTargets.from_text(text)
    assert all(arn in deployed for arn in arns)
    assert "arn:minio:sqs::target-number-50:elasticsearch" not in deployed
    assert len(text) < 500, "Lambda has room for 4 KB"
    assert arns[0] not in DeployedTargets.from_text(DeployedTargets.of(()).to_text())
