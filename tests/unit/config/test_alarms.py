"""`[alarms]`: who is notified, and every problem in words."""

import pytest

from tests.unit.config.folder import HOOK, Folder

TOPIC = "arn:aws:sns:eu-central-1:111122223333:pages"


@pytest.mark.parametrize(("key", "text"), [("topic", TOPIC), ("email", "ops@example.org")])
def test_topic_and_email_are_read(folder: Folder, key: str, text: str) -> None:
    deployment = folder.load(f"{HOOK}[alarms]\n{key} = '{text}'")
    assert deployment.alarms is not None
    assert getattr(deployment.alarms, key) == text
    assert not [note for note in deployment.notes if "alarms notify no one" in note]


def test_missing_table_is_noted(folder: Folder) -> None:
    assert [note for note in folder.load(HOOK).notes if "alarms notify no one" in note]
    # A local stack must not page anybody.
    assert folder.load(HOOK, local=True).notes == ()


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("", "email: missing; set either topic or email"),
        (f"topic = '{TOPIC}'\nemail = 'a@example.org'", "email: found beside topic; set either"),
        # CloudWatch cannot notify a FIFO topic.
        (
            f"topic = '{TOPIC}.fifo'",
            f"topic: found '{TOPIC}.fifo'; allowed is the ARN of a standard",
        ),
        (
            "email = 'a@b.org,c@b.org'",
            "email: found 'a@b.org,c@b.org'; allowed is one address, such",
        ),
    ],
)
def test_errors_have_key_value_and_hint(folder: Folder, table: str, problem: str) -> None:
    assert folder.problem(f"{HOOK}[alarms]\n{table}\n").startswith(f"alarms.{problem}")
