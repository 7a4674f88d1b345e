"""The ways to log in to NATS, and how a connection is encrypted."""

import base64
import dataclasses
import json
import ssl
from collections.abc import Callable, Iterator
from typing import Any, cast

import nkeys  # type: ignore[import-untyped]
import pytest
from nats.aio.client import RawCredentials

from bucketcast.errors import DeliveryError, NotAuthorized, NotConnected, Retryable
from bucketcast.event import Event
from bucketcast.settings.options import read
from bucketcast.settings.types import Secret
from bucketcast.targets.nats import Target
from tests.contract.made_targets import made_targets
from tests.contract.trial import events
from tests.servers import Server
from tests.servers.nats import LOGIN, TOKEN, NatsServer

Make = Callable[..., Target]
SERVERS = ("nats-core", "nats-jetstream", "nats-streaming")


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    monkeypatch.setattr(Target, "timeout", 5.0)
    with made_targets(Target, dict) as make:
        yield make


def reason(target: Target, batch: list[Event]) -> DeliveryError:
    """The one why none of these arrived."""
    failures = target.send(batch)
    assert failures.keys() == set(range(len(batch)))
    return failures[0]


@pytest.fixture
def jetstream(server: Callable[[str], Server]) -> NatsServer:
    return cast("NatsServer", server("nats-jetstream"))


@pytest.fixture
def core(server: Callable[[str], Server]) -> NatsServer:
    return cast("NatsServer", server("nats-core"))


@pytest.fixture(params=SERVERS)
def each(request: pytest.FixtureRequest, server: Callable[[str], Server]) -> NatsServer:
    return cast("NatsServer", server(request.param))


ADMIN = {"user": "admin", "password": "adm1n-s3cret"}
USERS = """\
authorization {{ users: [
  {{ user: admin, password: "adm1n-s3cret" }}
  {{ user: alice, password: "alice-s3cret", permissions: {{ {rights} }} }}
] }}
allow_non_tls: true"""
ALICE = {"token": "", "username": "alice", "password": "alice-s3cret"}


@pytest.mark.parametrize("name", ["nats-core", "nats-jetstream"])
def test_a_forbidden_subject_is_reported(
    server: Callable[[str], Server], make: Make, name: str
) -> None:
    found = cast("NatsServer", server(name))
    with found.configured(USERS.format(rights='publish: "ev.mine"'), **ADMIN):
        error = reason(make(found.settings(**ALICE)), events(3))
        assert type(error) is Retryable
        assert 'violation for publish to "ev.events"; grant it to the user' in str(error)
        assert found.received() == []
        mine = make(found.settings(**ALICE, subject="ev.mine"))
        mine.probe()  # although it may not ask which stream has the subject
        assert mine.send(events(3)) == {}
        assert len(found.received("ev.mine")) == 3


def test_a_user_with_a_password(each: NatsServer, make: Make) -> None:
    users = USERS.format(rights='publish: ">"')
    own = 'username: admin, password: "adm1n-s3cret"'
    more = own if each.product == "streaming" else ""  # it is a client of the server itself
    with each.configured(users, more=more, **ADMIN):
        assert make(each.settings(**ALICE)).send(events(3)) == {}
        assert len(each.received()) == 3
        error = reason(make(each.settings(**{**ALICE, "password": "wr0ng-s3cret"})), events(1))
        assert isinstance(error, NotAuthorized)
        assert "s3cret" not in str(error)


RIGHTS = {
    "core": 'publish: "ev.events", subscribe: { deny: ">" }',
    "jetstream": 'publish: "ev.events", subscribe: "_INBOX.>"',
    "streaming": 'publish: ["_STAN.>", "_INBOX.>"], subscribe: "_INBOX.>"',
}
"""As the target's page says."""


def test_a_user_with_the_documented_rights_is_enough(each: NatsServer, make: Make) -> None:
    own = 'username: admin, password: "adm1n-s3cret"'
    more = own if each.product == "streaming" else ""
    with each.configured(USERS.format(rights=RIGHTS[each.product]), more=more, **ADMIN):
        target = make(each.settings(**ALICE))
        target.probe()
        assert target.send(events(3)) == {}
        target.probe()
        target.close()
        assert len(each.received()) == 3


def key(of: str, prefix: int = nkeys.PREFIX_BYTE_USER) -> nkeys.KeyPair:
    return nkeys.from_seed(nkeys.encode_seed(of.encode() * 32, prefix))


def public(of: nkeys.KeyPair) -> str:
    return str(of.public_key.decode())


def seed(of: str) -> str:
    return str(nkeys.encode_seed(of.encode() * 32, nkeys.PREFIX_BYTE_USER).decode())


@pytest.mark.parametrize("form", ["{}", "-----BEGIN USER NKEY SEED-----\n{}\n------END-----\n"])
def test_a_user_with_an_nkey(jetstream: NatsServer, make: Make, form: str) -> None:
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
    """What an issuer says of a key, as NATS's own tools write it."""
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


def creds(of: str, account: nkeys.KeyPair) -> str:
    """A user's creds file, as `nsc` writes it."""
    signed = jwt("user", public(key(of)), account, **UNLIMITED, pub={}, sub={})
    return (
        f"-----BEGIN NATS USER JWT-----\n{signed}\n------END NATS USER JWT------\n\n"
        "************************* IMPORTANT *************************\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{seed(of)}\n------END USER NKEY SEED------\n"
    )


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_user_with_a_creds_file(core: NatsServer, make: Make, ends: str) -> None:
    operator = key("o", nkeys.PREFIX_BYTE_OPERATOR)
    account, other, system = (key(of, nkeys.PREFIX_BYTE_ACCOUNT) for of in "abc")
    limits = {**UNLIMITED, "imports": -1, "exports": -1, "wildcards": True, "conn": -1, "leaf": -1}
    stored = {"mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}
    signed = jwt("account", public(account), operator, limits={**limits, **stored})
    also = jwt("account", public(system), operator, limits=limits)
    resolved = f"""
      allow_non_tls: true
      operator: {jwt("operator", public(operator), operator)}
      system_account: {public(system)}
      resolver: MEMORY
      resolver_preload: {{ {public(account)}: {signed}, {public(system)}: {also} }}
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


def test_a_secret_of_another_form_is_reported_when_it_is_used(core: NatsServer) -> None:
    """A reference is resolved only then."""
    for name, text in (("nkey_seed", "n0seed-s3cret"), ("user_credentials", "n0jwt-s3cret")):
        settings: Any = read(Target.Settings, core.settings(token=""))
        target = Target(dataclasses.replace(settings, **{name: Secret(text)}))
        error = reason(target, events(1))
        assert isinstance(error, NotAuthorized)
        assert f"{name} must be a" in str(error)
        assert text not in str(error)


def test_a_server_that_does_not_encrypt_gets_no_login(each: NatsServer, make: Make) -> None:
    with each.configured(encryption=None):
        error = reason(make(each.settings(tls="on")), events(2))
        assert type(error) is NotConnected
        assert "this server does not encrypt" in str(error)
        assert each.received() == []
        assert make(each.settings()).send(events(1)) == {}


@pytest.mark.parametrize("key", ["tls", "cert_authority", "client_cert"])
def test_each_of_these_requires_an_encrypted_connection(
    core: NatsServer, make: Make, key: str
) -> None:
    wanted = {each: text for each, text in core.mtls_settings().items() if each.startswith(key)}
    if key == "client_cert":
        wanted["client_key"] = core.tls.client_key.read_text()
    with core.configured(encryption=None):
        assert "does not encrypt" in str(reason(make(core.settings(), **wanted), events(1)))


def test_a_server_that_demands_it_is_refused_unverified(core: NatsServer, make: Make) -> None:
    with core.configured(ENCRYPTED, **encrypted(core)):
        error = reason(make(core.settings()), events(1))
        assert "set cert_authority" in str(error)
        assert make(core.tls_settings()).send(events(1)) == {}


def test_skip_verify_skips_it(each: NatsServer, make: Make) -> None:
    other = each.tls.other_ca.read_text()
    refused = make(each.tls_settings(cert_authority=other))
    assert "set cert_authority" in str(reason(refused, events(1)))
    taken = make(each.tls_settings(cert_authority=other, tls_skip_verify="on"))
    assert taken.send(events(2)) == {}
    assert len(each.received()) == 2


def encrypted(server: NatsServer, **more: Any) -> dict[str, Any]:
    """How nats-py connects to a server that demands it."""
    context = ssl.create_default_context(cafile=str(server.tls.ca))
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return {"token": TOKEN, "tls": context, **more}


def test_a_tls_handshake_before_the_servers_info(core: NatsServer, make: Make) -> None:
    first = {"tls_handshake_first": "on", "cert_authority": core.tls.ca.read_text()}
    own = encrypted(core, tls_handshake_first=True)
    with core.configured(ENCRYPTED, encryption="handshake_first: true", **own):
        assert make(core.settings(), **first).send(events(3)) == {}
        assert len(core.received()) == 3
        error = reason(make(core.settings(), tls="on"), events(1))
        assert "tls_handshake_first = on?" in str(error)
    error = reason(make(core.settings(), **first), events(1))
    # Whether the server's first words are met as no TLS, or were read before, is a race.
    assert "does the server want tls_handshake_first" in str(error) or "leave out tls" in str(error)
