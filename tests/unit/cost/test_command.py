"""`bucketcast cost`: an estimate from the configuration."""

from pathlib import Path

import pytest

from benchmarks.pollers import Case
from tests.unit.conftest import Run, cells

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "aws" / "bucketcast.toml"
CONFIG = '[notify_webhook.primary]\nendpoint = "https://example.org/hook"\n'


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "bucketcast.toml"
    path.write_text(CONFIG)
    return str(path)


def test_an_estimate_is_shown_by_service_and_target(run: Run, file: str) -> None:
    ran = run("cost", "--events-per-day", "864000", "--file", file)
    rows = cells(ran.out)
    assert ["SQS", "its queue", "webhook:primary", "77,760,000", "31.10", "1.20"] in rows
    assert rows[-1][:2] == ["TOTAL", "25,920,000 events"]
    assert "without free tiers and what a VPC costs\n" in ran.said(0)
    assert "events that ingest gets at once: about 1\n" in ran.err
    rare = run("cost", "--events-per-day", "100000", "--file", str(EXAMPLE))
    assert "events that ingest gets at once: about 1\n" in rare.err
    document = run("cost", "--events-per-day", "864000", "--file", file, "--json").document
    assert document["region"] == "us-east-1"
    assert document["dollars_a_month"] == pytest.approx(
        sum(line["dollars"] for line in document["lines"]), abs=0.01
    )
    assert sum(document["by_service"].values()) == pytest.approx(
        sum(document["by_target"].values()), abs=0.01
    )
    assert {"date", "source"} < document["lines"][0]["price"].keys()


def test_price_of_access_events_is_shown(run: Run, file: str) -> None:
    cost = ("cost", "--events-per-day", "1", "--file", file)
    assert "access events" not in run(*cost).err
    Path(file).write_text(f"{CONFIG}[bucket.uploads]\naccess_events = ['get']\n")
    assert "access events of uploads: $1.00 per million calls logged" in run(*cost).err
    ran = run(*cost, "--reads-per-day", "1000000")
    assert ["CloudTrail", "calls logged for access events", "30,000,000", "30.00"] in [
        row[:4] for row in cells(ran.out)
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "--events-per-day is missing"),
        (["--events-per-day", "0"], "0 is not in the range"),
        (["--events-per-day", "1", "--share", "webhook:other=5"], "available: webhook:primary"),
        (["--events-per-day", "1", "--share", "webhook:primary=500"], "0 to 100"),
        (["--events-per-day", "1", "--share", "webhook:primary"], "allowed is TARGET=PERCENT"),
    ],
)
def test_misuse_is_reported(run: Run, file: str, words: list[str], expected: str) -> None:
    assert expected in run("cost", "--file", file, *words).said(2)


def test_readme_says_what_the_example_costs_with_and_without_a_window(
    run: Run, tmp_path: Path
) -> None:
    gathering = tmp_path / "bucketcast.toml"
    gathering.write_text(EXAMPLE.read_text("utf-8") + '\n[ingest]\nwindow = "1s"\n')
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for file in (EXAMPLE, gathering):
        ran = run("cost", "--events-per-day", "864000", "--file", str(file))
        total = round(float(cells(ran.out)[-1][-1]))
        assert f"${total} " in readme


def test_pages_say_what_the_model_says(run: Run) -> None:
    example = ("cost", "--file", str(EXAMPLE), "--events-per-day")
    idle = run(*example, "1", "--json").document["fixed_dollars_a_month"]
    window = Case("latency", 1, 10).bill().total(fixed=False) + idle
    said = {
        "compared.md": f"[about ${idle:.0f} a month](cost.md) for one target",
        "compared.md ": f'Here they [cost](cost.md) ${window:.0f} with `[ingest] window = "1s"`',
        "dynamic-targets.md": "about $0.26 a month for polling, $0.40 for its secret and $0.30",
    }
    for name, text in said.items():
        page = (ROOT / "docs" / name.strip()).read_text(encoding="utf-8")
        assert text in " ".join(page.split())
