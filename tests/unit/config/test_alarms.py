"""`[alarms]`: who is notified, and every problem in words."""

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
def test_topic_and_email_are_read(tmp_path: Path, key: str, text: str) -> None:
    made = _load(tmp_path, f"[alarms]\n{key} = '{text}'")
    assert made.alarms is not None
    assert getattr(made.alarms, key) == text
    assert not [note for note in made.notes if "alarms notify no one" in note]


def test_missing_table_is_noted(tmp_path: Path) -> None:
    made = _load(tmp_path, "")
    assert made.alarms is None
    assert [note for note in made.notes if "alarms notify no one" in note]
    # A local stack must not page anybody.
    assert _load(tmp_path, "", local=True).notes == ()


@pytest.mark.parametrize(
    ("table", "problem"),
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
        # CloudWatch cannot notify a FIFO topic.
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
    ],
)
def test_errors_have_key_value_and_hint(tmp_path: Path, table: str, problem: str) -> None:
    with pytest.raises(ConfigErrors) as refused:
        _load(tmp_path, f"[alarms]\n{table}\n")
    assert problem in [str(error) for error in refused.value.errors]
