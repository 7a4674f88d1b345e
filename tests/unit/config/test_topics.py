"""The table `[topics]`: limits of topics and of their events."""

import msgspec

from bucketcast.settings.environment import TopicDefaults
from tests.unit.config.folder import Folder


def test_topics_have_no_limits_by_default(folder: Folder) -> None:
    unset = folder.load("").topics
    assert msgspec.convert(vars(unset), TopicDefaults) == TopicDefaults()
    assert not unset.allow_secrets_in_cleartext
    assert unset.facts
    found = folder.load(
        '[topics]\nmax_retries = 3\ntopics_per_user = 5\nallow_secrets_in_cleartext = "on"\n'
    ).topics
    assert msgspec.convert(vars(found), TopicDefaults) == TopicDefaults(max_retries=3)
    assert (found.topics_per_user, found.allow_secrets_in_cleartext) == (5, True)
