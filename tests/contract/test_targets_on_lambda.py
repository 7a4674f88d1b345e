"""The dispatch function of each kind as Lambda runs it, before the real server.

Its bundle and layers are those of a deploy, started by AWS's runtime interface client in an empty
environment, on Lambda's Python where the machine has it.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bucketcast.delivery.envelope import Delivery, pack
from bucketcast.event import Event
from bucketcast.shapes import minio
from tests.awslambda.function import Function, bundled, variables_of
from tests.contract.case import Case, events
from tests.unit.samples import sqs_record

MEMORY = 512
"""MB of a dispatch function by default."""
_numbers = count(1)


@pytest.fixture
def function(server_case: Case, tmp_path: Path) -> Iterator[Function]:
    variables = {
        **variables_of("dispatch", server_case.layout.kind),
        "BUCKETCAST_SETTINGS": json.dumps(server_case.layout_settings()),
        "POWERTOOLS_METRICS_NAMESPACE": "Bucketcast",
        "AWS_LAMBDA_FUNCTION_NAME": "Bucketcast-target",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(MEMORY),
    }
    path = bundled("dispatch", "core", "shared", f"client-{server_case.layout.kind}")
    with Function(tmp_path, "functions.startup.handler", variables, path) as running:
        yield running


def test_the_function_delivers_within_its_memory_and_again_after_a_freeze(
    server_case: Case, function: Function
) -> None:
    assert _failed(function, _batch(events(500))) == [], function.log
    assert sorted(server_case.paths()) == sorted(map(minio.path, events(500)))
    assert function.peak < MEMORY
    assert _failed(function, _batch(events(5, "later"))) == [], function.log
    assert {minio.path(put) for put in events(5, "later")} <= set(server_case.paths())


def _failed(function: Function, batch: dict[str, Any]) -> list[str]:
    return [failure["itemIdentifier"] for failure in function(batch)["batchItemFailures"]]


def _batch(events_: Sequence[Event]) -> dict[str, Any]:
    """Return what Lambda hands over of the queue: a message with these events."""
    deliveries = [Delivery(rule="rule", event=event) for event in events_]
    return {
        "Records": [sqs_record(packed.body, number=next(_numbers)) for packed in pack(deliveries)]
    }
