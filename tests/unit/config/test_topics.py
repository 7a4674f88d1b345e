"""The table `[topics]`: limits of topics and of their events."""

from pathlib import Path

import msgspec

from bucketcast.config import load
from bucketcast.settings.environment import TopicDefaults


def test_topics_have_no_limits_by_default(tmp_path: Path) -> None:
    file = tmp_path / "bucketcast.toml"
    file.write_text("")
    unset = load(file, {}, local=False).topics
    assert msgspec.convert(vars(unset), TopicDefaults) == TopicDefaults()
    assert not unset.allow_secrets_in_cleartext
    assert unset.facts
    file.write_text(
        '[topics]\nmax_retries = 3\ntopics_per_user = 5\nallow_secrets_in_cleartext = "on"\n'
    )
    found = load(file, {}, local=False).topics
    assert msgspec.convert(vars(found), TopicDefaults) == TopicDefaults(max_retries=3)
    assert (found.topics_per_user, found.allow_secrets_in_cleartext) == (5, True)
