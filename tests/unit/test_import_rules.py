"""The contracts of import-linter that name what may not import something leave no package out."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRACTS = {
    contract["name"]: contract
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "importlinter"
    ]["contracts"]
}
COMMAND_LINE = {"cli", "cost", "dlq", "migrate"}


@pytest.mark.parametrize(
    ("contract", "free"),
    [
        (
            "only aws, state, delivery.queue and telemetry know AWS",
            {"aws", "state", "telemetry"},
        ),
        ("what functions carry knows no command line", COMMAND_LINE),
    ],
)
def test_contract_is_about_all_other_packages(contract: str, free: set[str]) -> None:
    package = ROOT / "layers" / "core" / "python" / "bucketcast"
    found = {each.stem for each in package.iterdir() if not each.stem.startswith(("_", "."))}
    about = {name.removeprefix("bucketcast.") for name in CONTRACTS[contract]["source_modules"]}
    assert about == found - free
