"""`bucketcast doctor` for every target, with the real server."""

import pytest

from tests.contract.case import Case
from tests.contract.diagnoses import fault, findings

STEPS = ["settings", "dns", "tcp", "tls", "login", "access"]


@pytest.mark.parametrize("login", ["settings", "tls_settings", "mtls_settings"])
def test_every_step_succeeds_without_a_write(server_case: Case, login: str) -> None:
    steps = findings(server_case.sender(getattr(server_case.server, login)()).target)
    assert [(step.check, step.status) for step in steps] == [(step, "ok") for step in STEPS]
    by_check = {step.check: step.found for step in steps}
    encrypted = "the certificate is valid until" in by_check["tls"]
    assert encrypted == (login != "settings"), by_check
    assert server_case.arrivals() == []


def test_a_wrong_password_is_reported_at_login(server_case: Case) -> None:
    settings = server_case.server.wrong_password_settings()
    if (
        server_case.layout.kind == "webhook"
    ):  # of which only a request shows it, and that would be an event
        assert findings(server_case.sender(settings).target)[-1].status == "ok"
        return
    finding = fault(server_case.sender(settings).target, "login")
    assert any(word in finding.hint for word in ("password", "user", "login", "secret")), finding
