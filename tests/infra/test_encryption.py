"""Keys of the customer: only readers of encrypted data may decrypt."""

from typing import Any

from tests.infra.conftest import TYPICAL, Make, Synthesised
from tests.infra.test_pipeline import PIPELINE

KEY = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
OTHER = "arn:aws:kms:eu-central-1:444455556666:key/mrk-1234abcd12ab34cd56ef1234567890ab"
PLAIN = """
[notify_nsq.open]
nsqd_address = "nsqd:4150"
topic = "t"
"""


def decrypting(found: Synthesised) -> list[tuple[str, Any]]:
    """Policies, and the statements by which they may decrypt."""
    return [each for each in found.statements() if "kms:Decrypt" in each[1]["Action"]]


def through(statement: Any) -> str:
    """By which service a statement lets decrypt."""
    named = statement["Condition"]["StringEquals"]["kms:ViaService"]
    return str(named["Fn::Join"][1][0].rstrip("."))


def test_no_role_decrypts_without_keys(make: Make) -> None:
    assert decrypting(make(TYPICAL + PIPELINE)) == []


def test_readers_of_secrets_and_reports_may_decrypt_by_the_keys(make: Make) -> None:
    keys = f'kms_keys = ["{KEY}", "{OTHER}"]\n'
    found = decrypting(make(keys + TYPICAL + PLAIN + PIPELINE))
    by: dict[str, set[str]] = {}
    for policy, statement in found:
        assert statement["Resource"] == [KEY, OTHER]
        by.setdefault(next(name for name in NAMES if policy.startswith(name)), set()).add(
            through(statement)
        )
    assert by == NAMES


NAMES = {
    "Targetwebhookprimary": {"secretsmanager"},
    "Targetpostgresab": {"secretsmanager"},
    "Pipelinescan": {"s3"},
    "Pipelinebackfill": {"s3"},
    "Pipelinereconcile": {"s3", "secretsmanager"},
}
"""How the policies of those begin that read something which may be under a key."""
