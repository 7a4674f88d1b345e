"""The tables `[source]`: topics and accounts whose events are accepted."""

import pytest

from tests.unit.config.folder import Folder


def test_other_sources_are_read(folder: Folder) -> None:
    topic = "arn:aws:sns:eu-west-1:444455556666:uploads"
    text = f"[source.s3]\naccounts = ['444455556666']\n[source.sns]\ntopics = ['{topic}']"
    source = folder.load(text).source
    assert (source.s3.accounts, source.sns.topics) == (("444455556666",), (topic,))
    unset = folder.load("").source
    assert (unset.s3.accounts, unset.sns.topics) == ((), ())


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (
            "[source.s3]\naccounts = ['4444']",
            "source.s3.accounts: found '4444'; allowed is an account",
        ),
        (
            "[source.sns]\ntopics = ['uploads']",
            "source.sns.topics: found 'uploads'; allowed is the",
        ),
        (
            "[source.sns]\ntopics = ['arn:aws:sns:eu-west-1:444455556666:up.fifo']",
            "source.sns.topics: found 'arn:aws:sns:eu-west-1:444455556666:up.fifo'; allowed is",
        ),
        ("[source.sqs]\nqueues = ['x']", "source.sqs: unknown key; did you mean 'sns'?"),
    ],
)
def test_invalid_account_or_topic_is_refused(folder: Folder, table: str, expected: str) -> None:
    (problem,) = folder.problems(table)
    assert problem.startswith(expected)
