"""The table `[topics]`: subscriptions and limits."""

from pathlib import Path

import pytest

from bucketcast.config import load
from bucketcast.errors import ConfigErrors
from bucketcast.topics.model import TopicDefaults


def test_subscriptions_are_off_and_keep_events_for_seven_days(tmp_path: Path) -> None:
    file = tmp_path / "bucketcast.toml"
    file.write_text("")
    unset = vars(load(file, {}, local=False).topics)
    assert TopicDefaults(**unset) == TopicDefaults()
    text = '[topics]\npull = "on"\nevents_retention_days = 365\ntopics_per_user = 5\n'
    file.write_text(text)
    found = load(file, {}, local=False).topics
    assert (found.pull, found.events_retention_days, found.topics_per_user) == (True, 365, 5)


@pytest.mark.parametrize("days", ["0", "366"])
def test_days_have_bounds(tmp_path: Path, days: str) -> None:
    file = tmp_path / "bucketcast.toml"
    file.write_text(f"[topics]\nevents_retention_days = {days}\n")
    with pytest.raises(ConfigErrors, match=r"topics\.events_retention_days.*1 to 365"):
        load(file, {}, local=False)
