"""What is hidden in a key does nothing to a terminal; programs get the key as it is."""

from typing import get_args

import click
import pytest
from botocore.exceptions import NoRegionError

from bucketcast.aws.clients import AwsError
from bucketcast.deployment.status import State
from bucketcast.diagnose.command import doctor, trace
from bucketcast.dynamic_targets.command import rows
from bucketcast.rules import Rule
from bucketcast.state.rules import Rules
from bucketcast.terminal import output
from tests.unit.conftest import Run
from tests.unit.moto_aws import TABLE, MotoAws, configure
from tests.unit.pipeline.command.fake_pipeline import deploy

WEBHOOK = "arn:minio:sqs::primary:webhook"
BAD = "in/\x1b]0;owned\x07\x9b2J\u202egpj.\x7f\nmade-up row\tend\u2028"
ESCAPED = r"in/\x1b]0;owned\x07\x9b2J\u202egpj.\x7f\nmade-up row\tend\u2028"


@pytest.fixture(params=["pipe", "terminal"], autouse=True)
def out(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table in a pipe, and on a terminal."""
    if request.param == "terminal":
        monkeypatch.setattr("bucketcast.terminal.output.is_terminal", lambda: True)
        monkeypatch.setenv("COLUMNS", "300")


def plain(text: str) -> str:
    """What a command said; it fails if anything but lines and what is printed is in it."""
    hidden = {sign for sign in text.replace("\n", "") if not sign.isprintable()}
    assert not hidden
    assert "\nmade-up row" not in text
    return text


def test_a_long_cell_shifts_its_own_row_only() -> None:
    table = output.plain(["KEY", "SIZE"], [["k" * 60, "1"], ["short", "2"]])
    assert table.splitlines()[1:] == ["k" * 60 + "  1", "short".ljust(48) + "  2"]


def test_what_botocore_raises_in_a_command_is_an_error_of_ours() -> None:
    @click.command()
    @output.shared
    def unread(_: output.Output) -> None:
        raise NoRegionError

    with pytest.raises(AwsError, match="no AWS region"):
        unread.main([], obj=output.Output(), standalone_mode=False)


@pytest.mark.parametrize("state", get_args(State))
def test_a_state_has_a_colour_on_a_terminal_only(
    state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = output.plain(["KEY", "STATE", ""], [["online", state, "."]])
    assert ("\x1b[" in table) == (output.is_terminal() and state != "unknown")
    monkeypatch.setenv("NO_COLOR", "1")
    assert output.plain(["KEY", "STATE", ""], [["online", state, "."]]) == click.unstyle(table)


@pytest.mark.parametrize("columns", [rows.COLUMNS, doctor._COLUMNS, trace.COLUMNS])
def test_a_table_of_states_has_them_in_colour(columns: tuple[str, ...]) -> None:
    table = output.plain(columns, [["dead"] * len(columns)])
    assert table.count("\x1b[31m") == output.is_terminal()


def test_error_keeps_its_lines(run: Run, aws: MotoAws) -> None:
    made = deploy(aws, None)
    made.states = ["FAILED"]
    made.result = {"status": "error", "error": "the row of a\x1b[2Jb\n\tand more"}
    ran = run("scan", "uploads")
    assert "the row of a\\x1b[2Jb\n\tand more" in ran.err


def test_table_of_rules_escapes_control_characters(run: Run, aws: MotoAws) -> None:
    rule = Rule(bucket="uploads", arn=WEBHOOK, events=("s3:ObjectCreated:*",), prefix=BAD)
    Rules(TABLE, aws.dynamodb).add(rule)
    assert ESCAPED in plain(run("event", "ls", "uploads").out)
    assert run("event", "ls", "uploads", "--json").document["rules"][0]["prefix"] == BAD
    configure("Bucketcast-webhook-primary", endpoint="https://example.org/hook")
    explained = plain(run("explain", f"s3://uploads/{BAD}", "--event", "put").out)
    assert f"s3://uploads/{ESCAPED}" in explained
    assert ESCAPED in plain(run("event", "rm", "uploads").out)
