"""Every function's log lines say which call wrote them, and whether it was a cold start."""

import re
from pathlib import Path
from typing import Any

import pytest

from bucketcast import telemetry
from tests.unit.functions.test_custom_resources import answers, event, function
from tests.unit.samples import lambda_context

__all__ = ["answers", "function"]
FUNCTIONS = Path(__file__).parents[3] / "functions"
ENTRIES = [
    path
    for path in sorted(FUNCTIONS.glob("*/*.py"))
    if re.search(r"^(def handler\(|handler = )", path.read_text(), re.MULTILINE)
]


def test_the_entries_of_all_functions_are_found() -> None:
    names = {str(path.relative_to(FUNCTIONS)) for path in ENTRIES}
    folders = {path.parent.name for path in FUNCTIONS.glob("*/*.py")}
    assert {f"{folder}/handler.py" for folder in folders} < names
    assert "dispatch/dynamic.py" in names


@pytest.mark.parametrize("path", ENTRIES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_handler_gives_the_call_to_its_logger(path: Path) -> None:
    text = path.read_text()
    assert re.search(
        r"^handler = (telemetry\.)?logger\.inject_lambda_context\(|"
        r"^@_?logger\.inject_lambda_context\ndef handler\(",
        text,
        re.MULTILINE,
    )


def test_a_line_names_its_call(function: Any, answers: Any) -> None:
    context = lambda_context(aws_request_id="11111111-2222-4333-8444-555555555555")
    function.handler(event(answers, "Create", ResourceProperties={}), context)
    written = telemetry.logger.get_current_keys()
    assert written["function_request_id"] == context.aws_request_id
    assert written["cold_start"] in {True, False}
