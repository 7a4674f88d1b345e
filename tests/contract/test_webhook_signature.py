"""Signatures, verified by the library of Standard Webhooks as receivers do."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from bucketcast.errors import ConfigErrors, NotAuthorized
from bucketcast.event import Event
from bucketcast.settings import options
from bucketcast.targets.webhook import Target
from bucketcast.targets.webhook.signature import Signer
from tests.contract.case import event
from tests.contract.reader import reader, wait_until_reading
from tests.contract.target_factory import running
from tests.servers.machine import ports
from tests.servers.receiver import Request
from tests.servers.webhook import WebhookServer

OLD = "whsec_" + base64.b64encode(bytes(range(32))).decode()
NEW = "whsec_" + base64.b64encode(bytes(range(64, 96))).decode()
OTHER = "whsec_" + base64.b64encode(bytes(24)).decode()


webhook = running("webhook")


@contextmanager
def target(webhook: WebhookServer, keys: str, **overrides: str) -> Iterator[Target]:
    settings = webhook.settings(signing_secret=keys, **overrides)
    with Target(options.read(Target.Settings, settings)) as opened:
        yield opened


def send_one(webhook: WebhookServer, keys: str, event_: Event) -> Request:
    with target(webhook, keys) as target_:
        assert target_.send([event_]) == {}
    (request,) = webhook.requests()
    return request


def test_the_library_verifies_a_request(webhook: WebhookServer) -> None:
    event_ = event("é \ufffe.jpg", size=7)
    request = send_one(webhook, OLD, event_)
    assert request.headers["webhook-id"] == event_.id
    Webhook(OLD).verify(request.body, request.headers)
    for body, key in ((request.body + b" ", OLD), (request.body, NEW)):
        with pytest.raises(WebhookVerificationError):
            Webhook(key).verify(body, request.headers)


def test_each_receiver_finds_its_key_during_a_rotation(webhook: WebhookServer) -> None:
    request = send_one(webhook, f"{NEW}\n{OLD}", event("a"))
    for key in (OLD, NEW):
        Webhook(key).verify(request.body, request.headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(OTHER).verify(request.body, request.headers)


def test_a_retry_is_signed_with_its_own_time() -> None:
    times = iter((1_000.9, 1_060.2))
    signer = Signer(OLD, clock=lambda: next(times))
    first, second = signer.headers("id", b"{}"), signer.headers("id", b"{}")
    assert [first[0], second[0]] == ["webhook-timestamp: 1000", "webhook-timestamp: 1060"]
    assert first[1] != second[1]


def test_the_vector_of_the_specification() -> None:
    signer = Signer("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", clock=lambda: 1_614_265_330)
    assert signer.headers("msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}') == [
        "webhook-timestamp: 1614265330",
        "webhook-signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    ]


@pytest.mark.parametrize(
    "keys",
    [
        "s3cretword",
        "whsec_",
        "whsec_c2hvcnQ=",
        "whsec_not/base64!" + "x" * 40,
        f"{OLD} whsk_" + "x" * 32,
    ],
)
def test_a_malformed_key_is_refused_without_showing_it(webhook: WebhookServer, keys: str) -> None:
    with target(webhook, keys) as target_:
        ((key, problem, allowed),) = Target.check(target_.settings)
        assert (key, problem) == ("signing_secret", "found ***")
        assert "whsec_" in allowed
        for attempt in (lambda: target_.send([event("a")]), target_.probe):
            with pytest.raises(NotAuthorized, match="signing_secret: allowed") as refused:
                attempt()
            assert keys[7:] not in str(refused.value) or not keys[7:]
    assert webhook.requests() == []


def test_a_key_in_the_configuration_is_refused() -> None:
    assert options.options_of(Target.Settings)["signing_secret"].hides(OLD)
    with pytest.raises(ConfigErrors) as refused:
        options.read(Target.Settings, {"signing_secret": OLD})
    assert OLD not in str(refused.value)


@pytest.mark.parametrize(
    ("keys", "receiver_keys", "fails"),
    [(f"{NEW} {OLD}", OLD, False), (OLD, NEW, True), ("", OLD, True)],
)
def test_the_example_accepts_only_signed_requests(
    tmp_path: Path, webhook: WebhookServer, keys: str, receiver_keys: str, *, fails: bool
) -> None:
    endpoint = f"http://127.0.0.1:{ports(tmp_path, 'webhook')['webhook']}/"
    with reader("webhook", {"endpoint": endpoint, "signing_secret": receiver_keys}) as program:
        wait_until_reading(program, endpoint)
        with target(webhook, keys, endpoint=endpoint) as target_:
            failures = target_.send([event("a b.jpg", size=7)])
    assert [type(error) for error in failures.values()] == [NotAuthorized] * fails
