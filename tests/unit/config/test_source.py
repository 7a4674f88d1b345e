"""The table `[source]`: topics and accounts whose events are accepted."""

from tests.unit.config.folder import Folder


def test_other_sources_are_read(folder: Folder) -> None:
    topic = "arn:aws:sns:eu-west-1:444455556666:uploads"
    text = f"[source]\naccounts = ['444455556666']\ntopics = ['{topic}']"
    source = folder.load(text).source
    assert (source.accounts, source.topics) == (("444455556666",), (topic,))
    unset = folder.load("").source
    assert (unset.accounts, unset.topics) == ((), ())
