"""A target's table: secrets and PEM files, on and off, and what follows from it."""

import pytest

from tests.unit.config.folder import HIDDEN, HOOK, TABLE, Folder

KEY = "-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----\n"


CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----\n"


@pytest.mark.parametrize("off", ["off", "OFF", "false", "0", "disabled"])
def test_disabled_target_is_deployed_and_its_events_wait(folder: Folder, off: str) -> None:
    for deployment in (
        folder.load(HOOK + f"enable = '{off}'"),
        folder.load(HOOK, MINIO_NOTIFY_WEBHOOK_ENABLE_primary=off),
    ):
        (target,) = deployment.targets
        assert not target.enabled
        assert "enable" not in target.settings
        expected = "notify_webhook.primary is off: its events are queued, for 14 days"
        assert expected in deployment.notes


@pytest.mark.parametrize(
    "table",
    [
        "[notify_webhook.a]\nenable = 'off'\nendpoint = '?'",
        "[notify_webhook.a]\nenable = 'off'",
        HOOK.replace("primary", "a") + "enable = 'off'\nauth_token = 'plain'",
    ],
)
def test_disabled_and_invalid_target_is_skipped(folder: Folder, table: str) -> None:
    """MinIO's own configuration lists such targets, which were never filled in."""
    deployment = folder.load(table)
    assert deployment.targets == ()
    assert deployment.notes[0].startswith(
        "notify_webhook.a is off and skipped as invalid: notify_webhook.a."
    )
    assert "plain'" not in deployment.notes[0]


@pytest.mark.parametrize("on", ["'on'", "'true'", "true", "1", "'enabled'"])
def test_enable_accepts_minios_values(folder: Folder, on: str) -> None:
    (target,) = folder.load(HOOK + f"enable = {on}").targets
    assert "enable" not in target.settings


def test_plain_secret_is_refused_unless_the_deploy_is_local(folder: Folder) -> None:
    assert folder.problem(HOOK + f"auth_token = '{HIDDEN}'") == (
        "notify_webhook.primary.auth_token: found plain text; secret:NAME of a secret in Secrets "
        "Manager; plain text is for a local deploy only"
    )


@pytest.mark.parametrize("unnamed", ["secret:", "secret:#token"])
def test_reference_needs_the_name_of_a_secret(folder: Folder, unnamed: str) -> None:
    assert folder.problem(HOOK + f"auth_token = '{unnamed}'") == (
        "notify_webhook.primary.auth_token: found no name of a secret; allowed is secret:NAME"
    )


@pytest.mark.parametrize(
    ("kind", "key", "text", "allowed"),
    [
        ("mysql", "dsn_string", f"u:{HIDDEN}@tcp(h:3306", "user:password@tcp("),
        ("postgres", "connection_string", f"host=h {HIDDEN}", "lib/pq's: it is no list of"),
        ("postgres", "connection_string", f"password={HIDDEN}", "lib/pq's: user is missing"),
    ],
)
def test_plain_secret_of_a_local_deploy_is_validated(
    folder: Folder, kind: str, key: str, text: str, allowed: str
) -> None:
    table = f"[notify_{kind}.a]\n{key} = '{text}'\ntable = 't'"
    problem = folder.problem(table, local=True)
    assert problem.startswith(f"notify_{kind}.a.{key}: found ***; allowed is {allowed}")
    assert HIDDEN not in problem


def test_plain_secret_of_a_local_deploy_becomes_a_reference(folder: Folder) -> None:
    deployment = folder.load(HOOK + f"auth_token = '{HIDDEN}'", local=True)
    (target,) = deployment.targets
    name = "bucketcast/webhook-primary/auth_token"
    assert target.settings["auth_token"] == f"secret:{name}"
    assert target.plain_secrets == {name: HIDDEN}
    assert target.secret_names == {name}
    assert HIDDEN not in repr(deployment)


@pytest.mark.parametrize(
    "text",
    [
        HOOK + f"auth_tokn = '{HIDDEN}'",
        HOOK + f"auth_token = ['{HIDDEN}', 1]",
        HOOK + f"auth_token = {{a = '{HIDDEN}'}}",
        f"[notify_webhook.a]\nendpoint = 'https://u:{HIDDEN}@example.org'",
        f"[notify_webhook.a]\nendpoint = 'u:{HIDDEN}@example.org'",
        HOOK + f"client_cert = 'secret:c'\nclient_key = '{HIDDEN}'",
        f"[notify_redis.a]\naddress = 'u:{HIDDEN}@localhost'\nkey = 'k'",
    ],
)
@pytest.mark.parametrize("local", [False, True])
def test_errors_show_no_secret(folder: Folder, text: str, *, local: bool) -> None:
    assert HIDDEN not in "".join(folder.problems(text, local=local))


def test_pem_is_read_from_its_file_beside_the_configuration(folder: Folder) -> None:
    (folder.path / "tls").mkdir()
    (folder.path / "tls" / "ca.pem").write_text(CERTIFICATE)
    (folder.path / "tls" / "key.pem").write_text(KEY)
    more = f"client_cert = '''{CERTIFICATE}'''\nclient_key = 'tls/key.pem'\n"
    text = HOOK + "cert_authority = 'tls/ca.pem'\n" + more
    (target,) = folder.load(text, local=True).targets
    name = "bucketcast/webhook-primary/client_key"
    assert target.settings["cert_authority"] == CERTIFICATE
    assert target.settings["client_cert"].strip() == CERTIFICATE.strip()
    assert target.settings["client_key"] == f"secret:{name}"
    assert target.plain_secrets == {name: KEY}
    problem = folder.problems(text)
    assert [line.partition(";")[0] for line in problem] == [
        "notify_webhook.primary.client_key: found plain text"
    ]


def test_missing_pem_file_is_refused(folder: Folder) -> None:
    assert folder.problem(HOOK + "cert_authority = 'nowhere.pem'") == (
        "notify_webhook.primary.cert_authority: cannot read file: No such file or directory; "
        "PEM text or its path"
    )


def test_file_without_pem_is_refused(folder: Folder) -> None:
    (folder.path / "ca.pem").write_text("hello")
    (folder.path / "ca.der").write_bytes(b"\x30\x82\xff")
    assert "PEM text" in folder.problems(HOOK + "cert_authority = 'ca.pem'")[0]
    assert "PEM text" in folder.problems(HOOK + "cert_authority = 'ca.der'")[0]
    assert "PEM text" in folder.problems(HOOK + "cert_authority = 'a\\u0000b'".replace("'", '"'))[0]


@pytest.mark.parametrize(
    ("expected", "deploy", "most"),
    [
        ("", "", 2),
        ("max_open_connections = 7", "", 7),
        ("max_open_connections = 0", "", 4),
        ("max_open_connections = 7", "max_concurrency = 3", 3),
        ("max_open_connections = 7", "max_concurrency = 0", None),
        ("", "max_concurrency = 1000", 1000),
    ],
)
def test_max_open_connections_limit_the_concurrency(
    folder: Folder, expected: str, deploy: str, most: int | None
) -> None:
    (target,) = folder.load(f"{TABLE}{expected}\n[notify_postgres.db.deploy]\n{deploy}\n").targets
    assert target.deploy.max_concurrency == most


def test_minios_store_is_accepted_and_noted_once(folder: Folder) -> None:
    more = "queue_dir = '/tmp/events'\nqueue_limit = 1000\ncomment = 'first'\n"
    deployment = folder.load(HOOK + more + TABLE + "queue_limit = 5\n")
    for expected in (
        "queue_dir does nothing here: the target's SQS queue stores waiting events",
        "queue_limit does nothing here: the target's SQS queue takes any number of events",
    ):
        assert deployment.notes.count(expected) == 1
    assert all(
        not {"queue_dir", "queue_limit", "comment"} & target.settings.keys()
        for target in deployment.targets
    )
    assert expected not in folder.load(HOOK + "queue_limit = 0\nqueue_dir = ''").notes
