"""What a login by IAM promises, before real servers behind gates that check it as AWS does."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from botocore import auth

from bucketcast.aws import iam_login
from bucketcast.errors import NotAuthorized, NotConnected
from bucketcast.shapes import minio
from tests.contract.trial import Trial, events
from tests.servers import iam
from tests.servers.iam import ACCESS_KEY, SECRET_KEY, SESSION, Gate
from tests.servers.tls import Tls

LATER = timedelta(minutes=16)


@pytest.fixture
def gate(signed: Trial, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Gate]:
    """A gate before the server, and the credentials of a function's role."""
    for name, text in (
        ("AWS_ACCESS_KEY_ID", ACCESS_KEY),
        ("AWS_SECRET_ACCESS_KEY", SECRET_KEY),
        ("AWS_SESSION_TOKEN", SESSION),
        ("AWS_EC2_METADATA_DISABLED", "true"),
        ("AWS_CONFIG_FILE", str(tmp_path / "none")),
        ("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none")),
    ):
        monkeypatch.setenv(name, text)
    # As in a new process: the session is made at the first login.
    iam_login._session.cache_clear()
    gate = iam.gate(signed.layout.kind, signed.server)
    with gate.open():
        yield gate
    iam_login._session.cache_clear()


def test_events_arrive_by_a_signed_login(signed: Trial, gate: Gate) -> None:
    sender = signed.sender(gate.settings())
    assert sender.probe() is None
    assert sender.send(events(20)) == {}
    assert sorted(signed.paths()) == sorted(map(minio.path, events(20)))
    assert gate.credentials
    assert gate.refused == []


def test_a_stale_login_is_refused_and_a_new_one_signed(
    signed: Trial, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gate's clock goes 16 minutes ahead, and then the signer's own as well."""
    sender = signed.sender(gate.settings())
    assert sender.send(events(2)) == {}
    gate.ahead = LATER
    gate.cut()
    sender.close()
    assert isinstance(sender.refusal(events(2)), NotAuthorized)
    assert set(gate.refused) == {"its time is over"}

    later = datetime.now(UTC) + LATER
    monkeypatch.setattr(auth, "get_current_datetime", lambda *_, **__: later.replace(tzinfo=None))
    sender.close()
    first = gate.credentials[0]
    assert sender.send(events(2, "later")) == {}
    assert gate.credentials[-1] != first


def test_the_signature_of_another_key_is_refused(
    signed: Trial, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another-s3cret")
    with pytest.raises(NotAuthorized) as refused:
        signed.sender(gate.settings()).target.probe()
    assert set(gate.refused) == {"the signature is another key's"}
    assert not signed.seen_secrets(str(refused.value))
    assert "iam_resource" in str(refused.value)


def test_without_credentials_no_login_is_tried(
    signed: Trial, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    with pytest.raises(NotAuthorized, match="no AWS credentials to sign the login with"):
        signed.sender(gate.settings()).target.probe()
    assert gate.credentials == []


def test_a_server_of_another_authority_sees_no_login(signed: Trial, gate: Gate, tls: Tls) -> None:
    texts = {**gate.settings(), "cert_authority": tls.other_ca.read_text()}
    with pytest.raises(NotConnected):
        signed.sender(texts).target.probe()
    assert gate.credentials == []
