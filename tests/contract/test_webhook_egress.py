"""On AWS a webhook connects to public addresses, and to others by name only."""

import socket
from typing import Any

import pytest

from bucketcast.errors import BreakerOpen, NotConnected
from bucketcast.settings import options
from bucketcast.settings.egress import VARIABLE
from bucketcast.targets.webhook import Target, client
from tests.contract.case import event
from tests.contract.diagnoses import fault, findings
from tests.contract.target_factory import running
from tests.servers.webhook import WebhookServer

webhook = running("webhook")


def port(webhook: WebhookServer) -> str:
    return webhook.address.rpartition(":")[2]


def outcome(webhook: WebhookServer, host: str) -> str:
    """Return the refusal of probe and delivery; "" if both succeed."""
    url = f"http://{host}:{port(webhook)}/open"
    with Target(options.read(Target.Settings, {"endpoint": url, "in_flight": "2"})) as target:
        failures = target.send([event("a"), event("b"), event("c")])
        if not failures:
            target.probe()
            return ""
        with pytest.raises(NotConnected) as refused:
            target.probe()
        assert {type(error) for error in failures.values()} == {NotConnected, BreakerOpen}
        assert {str(error) for error in failures.values()} == {str(refused.value)}
        return str(refused.value)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "0177.0.0.1", "[::ffff:127.0.0.1]"]
)
def test_loopback_is_refused_in_any_notation(
    webhook: WebhookServer, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.setenv(VARIABLE, "none")
    refusal = outcome(webhook, host)
    assert "is a loopback address, which allow_private does not allow" in refusal
    assert webhook.requests() == []
    monkeypatch.setenv(VARIABLE, "127.0.0.0/8,::1")
    assert outcome(webhook, host) == ""
    monkeypatch.delenv(VARIABLE)
    assert outcome(webhook, host) == ""


def test_doctor_does_not_connect_to_a_refused_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "none")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0)
        url = f"http://localhost:{listener.getsockname()[1]}/open"
        with Target(options.read(Target.Settings, {"endpoint": url})) as target:
            finding = fault(target, "tcp")
            with pytest.raises(BlockingIOError):
                listener.accept()
            monkeypatch.setenv(VARIABLE, "localhost")
            assert {step.status for step in findings(target)} == {"ok"}
    assert "127.0.0.1 is a loopback address, which allow_private does not allow" in finding.found
    assert "allow_private" in finding.hint


def test_the_address_at_the_time_of_the_connection_is_checked(
    webhook: WebhookServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "127.0.0.1")
    new_handle, addresses = client.new_handle, ["127.0.0.1"]

    def resolving_handle(settings: Any) -> Any:
        import pycurl  # noqa: PLC0415 - as in the client

        handle = new_handle(settings)
        entry = f"+hook.test:{port(webhook)}:{addresses[0]}"  # the answer of DNS
        handle.setopt(pycurl.RESOLVE, [entry])
        return handle

    monkeypatch.setattr(client, "new_handle", resolving_handle)
    assert outcome(webhook, "hook.test") == ""
    addresses[0] = "127.0.0.2"
    assert "127.0.0.2 is a loopback address" in outcome(webhook, "hook.test")
    addresses[0] = "169.254.169.254"
    assert "link-local" in outcome(webhook, "hook.test")
    assert len(webhook.requests()) == 3
