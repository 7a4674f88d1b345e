"""Files of environment variables, as shells, systemd and containers write them."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bucketcast.migrate import files, merge
from bucketcast.migrate.parsed import TargetId
from tests.unit.migrate.reading import Reading

PRIMARY = TargetId("webhook", "primary")
HIDDEN = "hunter2"
HOOK = "MINIO_NOTIFY_WEBHOOK_ENABLE_primary=on\nMINIO_NOTIFY_WEBHOOK_ENDPOINT_primary=http://h/\n"
FILE = Reading("minio.env")
read, settle, problems = FILE.read, FILE.settle, FILE.problems


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=b", "b"),
        ("export A=b", "b"),
        ('A="b c"', "b c"),
        ("export A='b \"c\" \\d'", 'b "c" \\d'),
        ('A="a \\"b\\" \\\\ \\$c \\d"', 'a "b" \\ $c \\d'),
        ("A=b c  # what it is", "b c"),
        ("A=b#c", "b#c"),
        ("A='b # c'", "b # c"),
        ('A=a\\ b\\"c', 'a b"c'),
        ("A=\"a\"'b'c", "abc"),
        ("A=", ""),
        ("A=a=b&c=$d", "a=b&c=$d"),
        ("A=a\\\nb", "ab"),
        ("  A=b \r", "b"),
        ("A=1\nA=2", "2"),
    ],
)
def test_quotes_comments_and_joined_lines(line: str, value: str) -> None:
    assert read(f"# A=0\n; B=0\n\n{line}\n").variables == {"A": value}


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_text_quoted_for_a_shell_is_read_back(text: str) -> None:
    single = "'" + text.replace("'", "'\\''") + "'"
    assert read(f"export A={single}").variables == {"A": text.strip()}


@pytest.mark.parametrize(
    "line", ["A='it'\\''s \"$x\" `y`'", 'A="a \\"b\\" \\\\ \\d \\`"', "A=a\\ b", "A=x'y z'\"w\""]
)
def test_shell_reads_the_same_values(line: str) -> None:
    output = subprocess.run(
        ["sh", "-c", f'{line}\nprintf %s "$A"'], capture_output=True, text=True, check=True
    )
    assert read(line).variables == {"A": output.stdout}


def test_targets_of_variables() -> None:
    found = settle(
        HOOK + "MINIO_NOTIFY_WEBHOOK_ENABLE=on\n"
        "MINIO_NOTIFY_WEBHOOK_ENDPOINT=http://default/\n"
        "MINIO_API_SYNC_EVENTS=on\n"
    )
    assert found.sync_events
    assert found.targets == {
        PRIMARY: {"endpoint": "http://h/"},
        TargetId("webhook", "_"): {"endpoint": "http://default/"},
    }


def test_variables_of_the_server_are_left_out_by_name() -> None:
    found = settle(f"MINIO_ROOT_PASSWORD={HIDDEN}\nMINIO_VOLUMES=/data\nPATH=/bin\n{HOOK}")
    (skipped,) = found.left_out
    assert skipped.what == "MINIO_ROOT_PASSWORD, MINIO_VOLUMES, PATH"
    assert HIDDEN not in str(skipped)


def test_target_without_enable_is_left_out_as_in_minio() -> None:
    found = settle("MINIO_NOTIFY_WEBHOOK_ENDPOINT_primary=http://h/")
    assert found.targets == {}
    ((what, why),) = found.left_out
    assert what == "notify_webhook.primary"
    assert "MINIO_NOTIFY_WEBHOOK_ENABLE is not set for it" in why


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (
            "MINIO_NOTIFY_WEBHOOK_ENDPONT_primary=x",
            "MINIO_NOTIFY_WEBHOOK_ENDPONT_primary: unknown variable; did you mean 'MINIO_NOTIFY_W",
        ),
        ("MINIO_NOTIFY_WEBHOK_ENDPOINT=x", "MINIO_NOTIFY_WEBHOK_ENDPOINT: unknown variable; "),
        (f"A='{HIDDEN}", "minio.env:3: found an unclosed quote in A; allowed is KEY=value"),
        (f"{HIDDEN} is not a pair", "minio.env:3: found no assignment; allowed is KEY=value"),
    ],
)
def test_errors_name_the_line_and_no_value(line: str, problem: str) -> None:
    (found,) = problems(f"{HOOK}{line}")
    assert found.startswith(problem)
    assert HIDDEN not in found


def test_environment_overrides_an_export() -> None:
    lines = "notify_webhook:primary endpoint=http://stored/ comment=mine"
    found = files.read([("minio.env", HOOK), ("export.txt", lines)])
    assert merge.merge(found).targets == {PRIMARY: {"comment": "mine", "endpoint": "http://h/"}}
