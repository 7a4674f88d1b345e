"""NATS's ways to log in, and its encrypted connections."""

import asyncio
import base64
import json
import ssl
from collections.abc import Callable, Iterator
from typing import Any

import nkeys  # type: ignore[import-untyped]
import pytest
from nats.aio.client import RawCredentials
from nats.aio.msg import Msg

from bucketcast.errors import DeliveryError, NotAuthorized, NotConnected
from bucketcast.targets.nats import Target
from tests.contract.case import events
from tests.contract.target_factory import running, target_factory
from tests.contract.test_nats import reason
from tests.servers.nats import LOGIN, TOKEN, NatsServer

Make = Callable[..., Target]
core = running("nats-core")
jetstream = running("nats-jetstream")
restricted = running("nats-core", "nats-jetstream")
nats = running("nats-core", "nats-jetstream", "nats-streaming")


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    monkeypatch.setattr(Target, "timeout", 5.0)
    with target_factory(Target, dict) as make:
        yield make


ADMIN = {"user": "admin", "password": "adm1n-s3cret"}
USERS = """\
authorization {{ users: [
  {{ user: admin, password: "adm1n-s3cret" }}
  {{ user: alice, password: "alice-s3cret", permissions: {{ {rights} }} }}
] }}
allow_non_tls: true"""
ALICE = {"token": "", "username": "alice", "password": "alice-s3cret"}


def test_forbidden_subject_is_reported(restricted: NatsServer, make: Make) -> None:
    with restricted.configured(USERS.format(rights='publish: "ev.mine"'), **ADMIN):
        error = reason(make(restricted.settings(**ALICE)), events(3))
        assert type(error) is NotAuthorized
        assert 'violation for publish to "ev.events"; grant it to the user' in str(error)
        assert restricted.received() == []
        allowed = make(restricted.settings(**ALICE, subject="ev.mine"))
        allowed.probe()  # although the user may not look up the subject's stream
        assert allowed.send(events(3)) == {}
        assert len(restricted.received("ev.mine")) == 3


@pytest.mark.parametrize("answer", [b"thanks", b'{"stream": "elsewhere", "seq": 1}'])
def test_only_the_answer_of_a_stream_confirms(
    jetstream: NatsServer, make: Make, answer: bytes
) -> None:
    """It may be a stream of another account or domain, which cannot be looked up."""

    async def respond(message: Msg) -> None:
        await message.respond(answer)

    async def run() -> dict[int, DeliveryError]:
        async with jetstream.connect() as client:
            await client.subscribe("answered", cb=respond)
            await client.flush()
            target = make(jetstream.settings(subject="answered"))
            return dict(await asyncio.to_thread(target.send, events(1)))

    failures = asyncio.run(run())
    reasons = ["which is not a stream" in str(error) for error in failures.values()]
    assert reasons == [True] * (answer == b"thanks")


RIGHTS = {
    "core": 'publish: "ev.events", subscribe: { deny: ">" }',
    "jetstream": 'publish: "ev.events", subscribe: "_INBOX.>"',
    "streaming": 'publish: ["_STAN.>", "_INBOX.>"], subscribe: "_INBOX.>"',
}
"""The rights that the target's page documents."""


def test_a_password_and_the_documented_rights_are_enough(nats: NatsServer, make: Make) -> None:
    login = 'username: admin, password: "adm1n-s3cret"'
    more = login if nats.product == "streaming" else ""
    with nats.configured(USERS.format(rights=RIGHTS[nats.product]), more=more, **ADMIN):
        target = make(nats.settings(**ALICE))
        target.probe()
        assert target.send(events(3)) == {}
        target.probe()
        target.close()
        assert len(nats.received()) == 3
        error = reason(make(nats.settings(**{**ALICE, "password": "wr0ng-s3cret"})), events(1))
        assert isinstance(error, NotAuthorized)
        assert "s3cret" not in str(error)


def key(letter: str, prefix: int = nkeys.PREFIX_BYTE_USER) -> nkeys.KeyPair:
    """A key whose random bytes are this letter."""
    return nkeys.from_seed(nkeys.encode_seed(letter.encode() * 32, prefix))


def public(pair: nkeys.KeyPair) -> str:
    return str(pair.public_key.decode())


def seed(letter: str) -> str:
    return str(nkeys.encode_seed(letter.encode() * 32, nkeys.PREFIX_BYTE_USER).decode())


@pytest.mark.parametrize("form", ["{}", "-----BEGIN USER NKEY SEED-----\n{}\n------END-----\n"])
def test_user_logs_in_with_an_nkey(jetstream: NatsServer, make: Make, form: str) -> None:
    users = f"""authorization {{ users: [
      {{ user: admin, password: "adm1n-s3cret" }}, {{ nkey: "{public(key("u"))}" }}
    ] }}
    allow_non_tls: true"""
    with jetstream.configured(users, **ADMIN):
        right = {"token": "", "nkey_seed": form.format(seed("u"))}
        assert make(jetstream.settings(**right)).send(events(3)) == {}
        assert len(jetstream.received()) == 3
        wrong = {"token": "", "nkey_seed": form.format(seed("x"))}
        error = reason(make(jetstream.settings(**wrong)), events(1))
        assert isinstance(error, NotAuthorized)
        assert seed("x") not in str(error)


def jwt(kind: str, subject: str, issuer: nkeys.KeyPair, **more: Any) -> str:
    """An issuer's claims for a key, as NATS's own tools write them."""
    claims = {
        "jti": kind,
        "iat": 1,
        "iss": public(issuer),
        "sub": subject,
        "name": kind,
        "nats": {"type": kind, "version": 2, **more},
    }
    head = {"typ": "JWT", "alg": "ed25519-nkey"}
    signed = ".".join(_base64(json.dumps(part).encode()) for part in (head, claims))
    return f"{signed}.{_base64(issuer.sign(signed.encode()))}"


def _base64(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()


ENCRYPTED = LOGIN.replace("allow_non_tls: true", "")
UNLIMITED = {"subs": -1, "data": -1, "payload": -1}


def creds(letter: str, account: nkeys.KeyPair) -> str:
    """A user's creds file, as `nsc` writes it."""
    signed = jwt("user", public(key(letter)), account, **UNLIMITED, pub={}, sub={})
    return (
        f"-----BEGIN NATS USER JWT-----\n{signed}\n------END NATS USER JWT------\n\n"
        "************************* IMPORTANT *************************\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{seed(letter)}\n------END USER NKEY SEED------\n"
    )


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_user_logs_in_with_a_creds_file(core: NatsServer, make: Make, ends: str) -> None:
    operator = key("o", nkeys.PREFIX_BYTE_OPERATOR)
    account, other, system = (key(letter, nkeys.PREFIX_BYTE_ACCOUNT) for letter in "abc")
    limits = {**UNLIMITED, "imports": -1, "exports": -1, "wildcards": True, "conn": -1, "leaf": -1}
    storage = {"mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}
    account_jwt = jwt("account", public(account), operator, limits={**limits, **storage})
    system_jwt = jwt("account", public(system), operator, limits=limits)
    resolved = f"""
      allow_non_tls: true
      operator: {jwt("operator", public(operator), operator)}
      system_account: {public(system)}
      resolver: MEMORY
      resolver_preload: {{ {public(account)}: {account_jwt}, {public(system)}: {system_jwt} }}
    """
    admin = RawCredentials(creds("m", account))
    with core.configured(resolved, user_credentials=admin):
        target = make(
            core.settings(), token="", user_credentials=creds("u", account).replace("\n", ends)
        )
        assert target.send(events(3)) == {}
        assert len(core.received()) == 3
        stranger = make(core.settings(), token="", user_credentials=creds("u", other))
        error = reason(stranger, events(1))
        assert isinstance(error, NotAuthorized)
        assert "user_credentials must be one that the server knows" in str(error)


def test_server_that_does_not_encrypt_gets_no_login(nats: NatsServer, make: Make) -> None:
    with nats.configured(encryption=None):
        error = reason(make(nats.settings(tls="on")), events(2))
        assert type(error) is NotConnected
        assert "this server does not encrypt" in str(error)
        assert nats.received() == []
        assert make(nats.settings()).send(events(1)) == {}


@pytest.mark.parametrize("option", ["tls", "cert_authority", "client_cert"])
def test_option_requires_an_encrypted_connection(core: NatsServer, make: Make, option: str) -> None:
    mtls = core.mtls_settings()
    overrides = {name: value for name, value in mtls.items() if name.startswith(option)}
    if option == "client_cert":
        overrides["client_key"] = core.tls.client_key.read_text()
    with core.configured(encryption=None):
        assert "does not encrypt" in str(reason(make(core.settings(), **overrides), events(1)))


def test_certificate_is_verified_if_the_server_requires_tls(core: NatsServer, make: Make) -> None:
    with core.configured(ENCRYPTED, **encrypted(core)):
        error = reason(make(core.settings()), events(1))
        assert "set cert_authority" in str(error)
        assert make(core.tls_settings()).send(events(1)) == {}


def encrypted(server: NatsServer, **more: Any) -> dict[str, Any]:
    """Options with which nats-py connects to a server that requires TLS."""
    context = ssl.create_default_context(cafile=str(server.tls.ca))
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return {"token": TOKEN, "tls": context, **more}


def test_tls_handshake_first_connects_before_the_servers_info(core: NatsServer, make: Make) -> None:
    first = {"tls_handshake_first": "on", "cert_authority": core.tls.ca.read_text()}
    admin = encrypted(core, tls_handshake_first=True)
    with core.configured(ENCRYPTED, encryption="handshake_first: true", **admin):
        assert make(core.settings(), **first).send(events(3)) == {}
        assert len(core.received()) == 3
        error = reason(make(core.settings(), tls="on"), events(1))
        assert "tls_handshake_first = on?" in str(error)
    error = reason(make(core.settings(), **first), events(1))
    # A race: the server's INFO may be read before the handshake, or as part of it.
    assert "does the server want tls_handshake_first" in str(error) or "leave out tls" in str(error)
