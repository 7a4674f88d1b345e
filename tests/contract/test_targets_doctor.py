"""What `bucketcast doctor` sees of every target from its function, before the real server."""

import socket

import pytest

from tests.contract.diagnoses import fault, findings
from tests.contract.trial import Trial

STEPS = ["settings", "dns", "tcp", "tls", "login", "access"]


@pytest.mark.parametrize("login", ["settings", "tls_settings", "mtls_settings"])
def test_each_step_is_fine_and_leaves_nothing(one: Trial, login: str) -> None:
    found = findings(one.sender(getattr(one.server, login)()).target)
    assert [(each.check, each.status) for each in found] == [(step, "ok") for step in STEPS]
    by_check = {each.check: each.found for each in found}
    encrypted = "the certificate is valid until" in by_check["tls"]
    assert encrypted == (login != "settings"), by_check
    assert one.arrivals() == []


def test_a_closed_port(one: Trial) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        free = str(closed.getsockname()[1])
    port = one.server.address.rpartition(":")[2]
    texts = {key: text.replace(port, free) for key, text in one.server.settings().items()}
    last = fault(one.sender(texts).target, "tcp")
    assert f":{free} refuses connections" in last.found
    assert "start the server, or correct host and port" in last.hint


def test_an_unknown_host(one: Trial) -> None:
    texts = one.server.settings()
    for name in ("127.0.0.1", "localhost"):
        texts = {key: text.replace(name, "nowhere.invalid") for key, text in texts.items()}
    last = fault(one.sender(texts).target, "dns")
    assert "the host nowhere.invalid is unknown" in last.found
    assert "correct the host in the settings" in last.hint


def test_a_wrong_password(one: Trial) -> None:
    texts = one.server.wrong_password_settings()
    if one.layout.kind == "webhook":  # of which only a request shows it, and that would be an event
        assert findings(one.sender(texts).target)[-1].status == "ok"
        return
    last = fault(one.sender(texts).target, "login")
    assert any(word in last.hint for word in ("password", "user", "login", "secret")), last
