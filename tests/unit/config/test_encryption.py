"""Keys of KMS, and what can be read on the way to a target."""

import pytest

from tests.unit.config.folder import Folder

CLEAR = """
[notify_webhook.a]
endpoint = "http://example.org/"
auth_token = "secret:hook"
[notify_redis.b]
address = "cache:6379"
key = "k"
[notify_postgres.c]
connection_string = "secret:db"
table = "t"
[notify_mysql.d]
dsn_string = "secret:db"
table = "t"
[notify_elasticsearch.e]
url = "http://search:9200"
index = "i"
username = "u"
password = "secret:search"
"""


SKIPPING = """
[notify_nsq.f]
nsqd_address = "nsqd:4150"
topic = "t"
tls = "on"
tls_skip_verify = "on"
"""


def test_unencrypted_transport_is_noted(folder: Folder) -> None:
    noted = {note.partition(":")[0]: note for note in folder.load(CLEAR).notes}
    assert "auth_token can be read" in noted["notify_webhook.a.endpoint"]
    assert "password can be read" in noted["notify_redis.b.tls"]
    assert "sslmode=verify-full" in noted["notify_postgres.c.connection_string"]
    verified = CLEAR.replace(
        "[notify_postgres.c]", '[notify_postgres.c]\ncert_authority = "secret:ca"'
    )
    assert not [note for note in folder.load(verified).notes if "notify_postgres" in note]
    assert "tls=true" in noted["notify_mysql.d.dsn_string"]
    assert "password can be read" in noted["notify_elasticsearch.e.url"]
    here = CLEAR.replace("secret:db", "u:p@tcp(127.0.0.1)/db").split("[notify_postgres")[0]
    assert not [note for note in folder.load(here, local=True).notes if "on the way" in note]


KEY = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("kms_keys", f"['{KEY.partition('key/')[0]}alias/mine']"),
        ("kms_key", "'alias/mine'"),
    ],
)
def test_only_arns_of_keys_are_accepted(folder: Folder, name: str, found: str) -> None:
    problem = folder.problem(f"{name} = {found}\n")
    assert problem.startswith(f"{name}: found ")
    assert "key/ID, not an alias" in problem


def test_kms_keys_are_accepted(folder: Folder) -> None:
    keys = [
        KEY,
        "arn:aws-cn:kms:cn-north-1:111122223333:key/mrk-1234abcd12ab34cd56ef1234567890ab",
    ]
    assert folder.load(f"kms_keys = {keys}\n").kms_keys == tuple(keys)
    assert (folder.load("").kms_key, folder.load(f"kms_key = '{KEY}'").kms_key) == ("", KEY)


def test_encrypted_and_verified_transport_is_not_noted(folder: Folder) -> None:
    text = CLEAR.replace("http://", "https://").replace('key = "k"', 'key = "k"\ntls = "on"')
    text = text.split("[notify_postgres")[0]
    assert not [note for note in folder.load(text).notes if "on the way" in note]


def test_skipping_verification_has_to_be_confirmed(folder: Folder) -> None:
    problem = folder.problem(SKIPPING)
    assert problem.startswith("notify_nsq.f.tls_skip_verify: found 'on'; set cert_authority")
    assert folder.load(SKIPPING, local=True).targets
    twice = SKIPPING + '[notify_nsq.f.deploy]\ntls_skip_verify = "on"\n'
    assert any("can read and change" in note for note in folder.load(twice).notes)
