"""The consumers in examples/ that the targets' pages lead to."""

from pathlib import Path

from bucketcast import targets

CONSUMERS = Path(__file__).parents[2] / "examples" / "consumers"


def test_each_kind_has_a_consumer_to_look_at() -> None:
    assert {path.stem for path in CONSUMERS.glob("*.py")} == set(targets.kinds())
