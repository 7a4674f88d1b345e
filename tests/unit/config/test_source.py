"""The table `[source]`: topics and accounts whose events are accepted."""

import pytest

from tests.unit.config.folder import Folder


def test_other_sources_are_read(folder: Folder) -> None:
    topic = "arn:aws:sns:eu-west-1:444455556666:uploads"
    text = f"[source]\naccounts = ['444455556666']\ntopics = ['{topic}']"
    source = folder.load(text).source
    assert (source.accounts, source.topics) == (("444455556666",), (topic,))
    unset = folder.load("").source
    assert (unset.accounts, unset.topics) == ((), ())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("accounts = ['4444']", "source.accounts: found '4444'; allowed is an account"),
        ("topics = ['uploads']", "source.topics: found 'uploads'; allowed is the"),
        ("topic = 'x'", "source.topic: unknown key; did you mean 'topics'?"),
    ],
)
def test_invalid_account_or_topic_is_refused(folder: Folder, line: str, expected: str) -> None:
    (problem,) = folder.problems(f"[source]\n{line}")
    assert problem.startswith(expected)
