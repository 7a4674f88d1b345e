"""`[alarms]`: who is told, and every mistake in words."""

from pathlib import Path

import pytest

from bucketcast.config import Deployment, load
from bucketcast.errors import ConfigErrors

HOOK = '[notify_webhook.primary]\nendpoint = "https://example.org/hook"\n'
TOPIC = "arn:aws:sns:eu-central-1:111122223333:pages"


def _load(folder: Path, text: str, *, local: bool = False) -> Deployment:
    path = folder / "bucketcast.toml"
    path.write_text(HOOK + text)
    return load(path, {}, local=local)


@pytest.mark.parametrize(("key", "text"), [("topic", TOPIC), ("email", "ops@example.org")])
def test_a_topic_or_an_address_is_told(tmp_path: Path, key: str, text: str) -> None:
    made = _load(tmp_path, f"[alarms]\n{key} = '{text}'")
    assert made.alarms is not None
    assert getattr(made.alarms, key) == text
    assert not [note for note in made.notes if "nobody is notified of alarms" in note]


def test_without_the_table_it_is_said_that_nobody_is_paged(tmp_path: Path) -> None:
    made = _load(tmp_path, "")
    assert made.alarms is None
    assert [note for note in made.notes if "nobody is notified of alarms" in note]
    # Nobody is to be woken by a laptop.
    assert _load(tmp_path, "", local=True).notes == ()


@pytest.mark.parametrize(
    ("table", "mistake"),
    [
        ("", "alarms.email: missing; set either topic or email"),
        ("topic = ''", "alarms.email: missing; set either topic or email"),
        (
            f"topic = '{TOPIC}'\nemail = 'ops@example.org'",
            "alarms.email: found beside topic; set either topic or email",
        ),
        (
            "topic = 'pages'",
            (
                "alarms.topic: found 'pages'; allowed is the ARN of a standard SNS topic, "
                "arn:aws:sns:REGION:ACCOUNT:NAME"
            ),
        ),
        # CloudWatch tells no FIFO topic.
        (
            f"topic = '{TOPIC}.fifo'",
            (
                f"alarms.topic: found '{TOPIC}.fifo'; allowed is the ARN of a standard SNS topic, "
                "arn:aws:sns:REGION:ACCOUNT:NAME"
            ),
        ),
        (
            "email = 'ops'",
            (
                "alarms.email: found 'ops'; allowed is one address, such as ops@example.org; "
                "for several give a topic"
            ),
        ),
        (
            "email = 'a@example.org,b@example.org'",
            (
                "alarms.email: found 'a@example.org,b@example.org'; allowed is one address, "
                "such as ops@example.org; for several give a topic"
            ),
        ),
        ("phone = '1'", "alarms.phone: unknown key; allowed are topic, email"),
    ],
)
def test_mistakes_say_the_key_what_was_found_and_what_is_allowed(
    tmp_path: Path, table: str, mistake: str
) -> None:
    with pytest.raises(ConfigErrors) as refused:
        _load(tmp_path, f"[alarms]\n{table}\n")
    assert mistake in [str(error) for error in refused.value.errors]


def test_a_table_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "bucketcast.toml"
    path.write_text("alarms = 'ops@example.org'\n")
    with pytest.raises(ConfigErrors, match="a table"):
        load(path, {}, local=False)
