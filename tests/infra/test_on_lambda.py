"""Every function of a stack starts as Lambda starts it: by AWS's client, in an empty environment.

Those of targets, with the client of each kind, deliver to real servers so
(`tests/contract/test_targets_on_lambda.py`); here each of the others is imported, with its layers
only, on Lambda's Python where the machine has it.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.awslambda.bundled import folders
from tests.awslambda.function import Function, version
from tests.infra.conftest import Make, Synthesised

CONFIG = """
[gateway]
function_url = "on"
listen_concurrency = 10

[bucket.uploads]

[dynamic_targets]
kinds = "webhook"

[pipeline]

[scan.uploads]
source = "s3://reports/uploads/daily"
on = "inventory"

[notify_webhook.primary]
endpoint = "https://example.org/hook"
"""
NAMES = [
    "gateway",
    "listen",
    "ingest",
    "scan-start",
    "custom-resources",
    "webhook-primary",
    "dynamic-webhook",
]


@pytest.fixture(scope="module")
def stack(make: Make) -> Synthesised:
    return make(CONFIG)


def test_all_functions_are_tested(stack: Synthesised) -> None:
    functions = stack.properties_of("AWS::Lambda::Function")
    found = {each["FunctionName"].removeprefix("Bucketcast-") for each in functions}
    assert found == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_function_starts_within_its_memory(stack: Synthesised, name: str, tmp_path: Path) -> None:
    declared = stack.function(f"Bucketcast-{name}")
    variables = declared["Environment"]["Variables"]
    module = variables.get("BUCKETCAST_HANDLER", declared["Handler"])
    layers = [_layer(each["Ref"]) for each in declared["Layers"]]
    path = folders(version(), module.split(".")[1], layers)
    texts = {key: _text(value) for key, value in variables.items()}
    with Function(tmp_path, declared["Handler"], texts, path) as function:
        assert "cannot start" not in function.log
        assert "Traceback" not in function.log
        assert function.peak < declared["MemorySize"]


def _layer(logical_id: str) -> str:
    """Return a layer as `tests.awslambda.bundled` calls it."""
    found = re.fullmatch(
        r"Assets(Core|Shared|Gateway|Client(?P<kind>[a-z]+))[0-9A-F]{8}", logical_id
    )
    assert found, logical_id
    return f"client-{found['kind']}" if found["kind"] else found[1].lower()


def _text(value: Any) -> str:
    """Return a variable, with words for what only the deploy knows."""
    return value if isinstance(value, str) else "https://sqs.example/000000000000/Bucketcast-x"
