import re
from pathlib import Path
from typing import Any

import pytest

from bucketcast import targets
from bucketcast.settings.options import options_of
from tests import reference
from tests.unit.conftest import Run
from tests.unit.samples import RELEASED

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "docs" / "targets"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "bucketcast.toml"
    path.write_text(
        "[bucket.uploads]\n"
        '[notify_webhook.primary]\nendpoint = "https://example.org/hook"\nauth_token = "hidden"\n'
        "queue_limit = 100\n"
        '[notify_postgres.main]\nconnection_string = "secret:rds#dsn"\ntable = "events"\n'
    )
    return path


def test_config_shows_effective_values_and_no_secret(run: Run, file: Path) -> None:
    ran = run("config", "--local", "--file", str(file))
    assert "hidden" not in ran.out + ran.err
    assert "queue_limit does nothing here" in ran.said(0)
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert "notify_webhook.primary arn:minio:sqs::primary:webhook (its ARN)" in lines
    assert "notify_webhook.primary auth_token ***" in lines
    assert "notify_webhook.primary endpoint https://example.org/hook" in lines
    assert "notify_postgres.main connection_string secret:rds#dsn" in lines
    assert "notify_postgres.main format namespace (default)" in lines
    assert "bucket.uploads via sqs" in lines


def test_config_prints_json(run: Run, file: Path) -> None:
    document = run("config", "webhook", "--local", "--json", "--file", str(file)).document
    assert [target["arn"] for target in document["targets"]] == ["arn:minio:sqs::primary:webhook"]
    assert document["targets"][0]["settings"]["auth_token"] == "***"
    assert document["targets"][0]["deploy"]["profile"] == "latency"
    uploads = {key: document["buckets"]["uploads"][key] for key in ("create", "via", "prefix")}
    assert uploads == {"create": True, "via": "sqs", "prefix": ""}


def test_all_errors_are_reported_as_misuse(run: Run, file: Path) -> None:
    file.write_text('[notify_webhook.primary]\nendpont = "x"\ntimeout = "10"\nauth_token = "t"\n')
    ran = run("config", "--file", str(file))
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 4)
    document = run("config", "--json", "--file", str(file)).document
    assert document["errors"][1]["key"] == "notify_webhook.primary.endpont"
    assert "did you mean 'endpoint'?" in document["errors"][1]["allowed"]


def test_options_that_need_each_other_are_checked_beside_wrong_ones(run: Run, file: Path) -> None:
    file.write_text(
        """
[notify_webhook.one]
endpoint = "example.org"
in_flight = 1000
[notify_webhook.two]
endpoint = "http://127.0.0.1/x"
timeout = "soon"
[notify_kafka.none]
brokers = "b:9092"
sasl_username = "u"
[notify_kafka.word]
brokers = "b:9092"
topic = "t"
sasl = "maybe"
sasl_username = "u"
"""
    )
    errors = run("config", "--file", str(file), "--json").document["errors"]
    assert [error["key"] for error in errors] == [
        "notify_kafka.none.topic",
        "notify_kafka.none.sasl_username",
        "notify_kafka.word.sasl",  # and not its user, which is wrong only without `sasl`
        "notify_webhook.one.endpoint",
        "notify_webhook.one.in_flight",
        "notify_webhook.two.timeout",
        "notify_webhook.two.endpoint",
    ]


def test_limits_of_aws_are_reported_before_the_deploy(run: Run, file: Path) -> None:
    file.write_text('[notify_webhook.one]\nendpoint = "https://example.org/"')
    refused = run("config", "--file", str(file), "--stack", "S" * 60).said(2)
    assert "at most 64: choose a shorter stack name or id" in refused


def test_help_lists_every_option_of_all_kinds_or_one(run: Run) -> None:
    sections = run("config", "--help").out
    for kind in targets.kinds():
        text = run("config", kind, "--help").out
        assert text.partition("[notify")[2] in sections
        declared: Any = targets.load(kind).Settings
        words = text.split()
        options = options_of(declared)
        variables = [f"MINIO_NOTIFY_{kind.upper()}_{each.variable}_ID" for each in options.values()]
        # A whole word each: nobody can copy a name that is broken.
        shown = [word for word in words if word.startswith("MINIO_") and word.endswith("_ID")]
        assert sorted(shown) == sorted(variables)
        for key, option in options.items():
            assert f"{key} ({option.type}) {option.help.split()[0]}" in " ".join(words)


@pytest.mark.parametrize("kind", targets.kinds())
def test_page_of_a_kind_is_up_to_date(kind: str) -> None:
    committed = (PAGES / f"{kind}.md").read_text(encoding="utf-8")
    assert committed == reference.page(kind), "python -m tests.reference"


def test_the_page_of_all_keys_is_up_to_date() -> None:
    committed = (PAGES.parent / "configuration.md").read_text(encoding="utf-8")
    assert committed == reference.all_keys(), "python -m tests.reference"


def test_no_key_of_release_1_0_0_is_gone() -> None:
    now = {
        f"{section.splitlines()[0].split(',')[0]} {key}"
        for section in reference.all_keys().split("\n## ")
        for key in re.findall(r"^\* `(\w+)`", section, re.MULTILINE)
    }
    assert set(RELEASED["keys"]) - now == set()


def test_every_page_belongs_to_a_kind() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} == set(targets.kinds())


def test_configuration_at_the_root_is_valid(run: Run) -> None:
    assert run("config", "--file", str(ROOT / "bucketcast.toml"), "--local").code == 0
    refused = run("config", "--file", str(ROOT / "bucketcast.toml")).said(2)
    assert refused.endswith(
        "notify_webhook.primary.endpoint: found 127.0.0.1, which is the function itself; a host "
        "that AWS reaches, as in examples/aws/bucketcast.toml; --local is for a laptop's file\n"
    )
