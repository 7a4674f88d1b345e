"""Every function's log lines say which call wrote them, and whether it was a cold start."""

import re
from pathlib import Path

import pytest

FUNCTIONS = Path(__file__).parents[3] / "functions"
ENTRIES = [
    path
    for path in sorted(FUNCTIONS.glob("*/*.py"))
    if path.stem == "handler"
    or re.search(r"^(def handler\(|handler = )", path.read_text(), re.MULTILINE)
]


@pytest.mark.parametrize("path", ENTRIES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_handler_gives_the_call_to_its_logger(path: Path) -> None:
    text = path.read_text()
    assert re.search(
        r"^handler = (telemetry\.)?logger\.inject_lambda_context\(|"
        r"^@_?logger\.inject_lambda_context\ndef handler\(",
        text,
        re.MULTILINE,
    )
