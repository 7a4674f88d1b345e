"""The table `[topics]`: limits of topics and of their events."""

from pathlib import Path

from bucketcast.config import load
from bucketcast.settings.environment import TopicDefaults


def test_topics_have_no_limits_by_default(tmp_path: Path) -> None:
    file = tmp_path / "bucketcast.toml"
    file.write_text("")
    unset = vars(load(file, {}, local=False).topics)
    assert TopicDefaults(**unset) == TopicDefaults()
    file.write_text("[topics]\nmax_retries = 3\ntopics_per_user = 5\n")
    found = load(file, {}, local=False).topics
    assert (found.max_retries, found.topics_per_user) == (3, 5)
