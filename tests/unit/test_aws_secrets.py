"""References are resolved by Secrets Manager, with as few calls as possible."""

from typing import TYPE_CHECKING, Any

import boto3
import pytest
from aws_lambda_powertools.utilities import parameters

from bucketcast.aws.secrets import resolve
from bucketcast.errors import NotAuthorized

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient


@pytest.fixture
def secrets(mocked_aws: None) -> "SecretsManagerClient":  # noqa: ARG001 - it answers
    parameters.clear_caches()  # type: ignore[no-untyped-call]
    return boto3.client("secretsmanager")


def test_references_are_replaced_and_all_else_is_not(secrets: "SecretsManagerClient") -> None:
    secrets.create_secret(Name="stack/db", SecretString="host=db password=hunter2")
    settings = {"connection_string": "secret:stack/db", "table": "events", "format": ""}
    assert resolve(settings) == {
        "connection_string": "host=db password=hunter2",
        "table": "events",
        "format": "",
    }
    assert settings["connection_string"] == "secret:stack/db"


@pytest.mark.parametrize(
    ("text", "field", "found"),
    [
        ('{"username": "anna", "password": "hunter2"}', "password", "hunter2"),
        ('{"port": 5432}', "port", "5432"),
        ('{"": "odd"}', "", '{"": "odd"}'),
    ],
)
def test_field_of_a_secret(
    secrets: "SecretsManagerClient", text: str, field: str, found: str
) -> None:
    secrets.create_secret(Name="db", SecretString=text)
    assert resolve({"password": f"secret:db#{field}"}) == {"password": found}


@pytest.mark.parametrize(
    ("stored", "used"),
    [
        ("hunter2\n", "hunter2"),  # as of a file that an editor or echo wrote
        ("hunter2\r\n", "hunter2"),
        ("hunter2\n\n", "hunter2\n\n"),
        (" hunter2 ", " hunter2 "),
        ("\nhunter2", "\nhunter2"),
        ("-----BEGIN KEY-----\nYQ==\n-----END KEY-----\n",) * 2,
        ("-----BEGIN KEY-----\r\nYQ==\r\n-----END KEY-----\r\n",) * 2,
    ],
)
def test_line_end_of_a_one_line_secret_is_no_part_of_it(
    secrets: "SecretsManagerClient", stored: str, used: str
) -> None:
    secrets.create_secret(Name="db", SecretString=stored)
    assert resolve({"password": "secret:db"}) == {"password": used}


@pytest.mark.parametrize("end", ["", "\n"])
def test_fields_are_used_as_they_are(secrets: "SecretsManagerClient", end: str) -> None:
    secrets.create_secret(Name="db", SecretString='{"password": "hunter2\\n"}' + end)
    assert resolve({"password": "secret:db#password"}) == {"password": "hunter2\n"}


def test_binary_secret_is_read_as_text(secrets: "SecretsManagerClient") -> None:
    secrets.create_secret(Name="key", SecretBinary="ké".encode())
    assert resolve({"client_key": "secret:key"}) == {"client_key": "ké"}


@pytest.mark.parametrize(
    ("made", "reference", "expected"),
    [
        ({}, "secret:nowhere", "password: the secret 'nowhere' cannot be read"),
        ({"SecretString": "plain"}, "secret:s#field", "no JSON object with a field 'field'"),
        ({"SecretString": "{}"}, "secret:s#field", "no JSON object with a field 'field'"),
        ({"SecretString": "[1]"}, "secret:s#field", "no JSON object with a field 'field'"),
        ({"SecretString": '"hunter2"'}, "secret:s#field", "no JSON object with a field 'field'"),
        ({"SecretBinary": b"hunter2\xff"}, "secret:s", "the secret 's' is no text in UTF-8"),
    ],
)
def test_secret_that_cannot_be_used_is_named_and_not_shown(
    secrets: "SecretsManagerClient", made: dict[str, Any], reference: str, expected: str
) -> None:
    if made:
        secrets.create_secret(Name="s", **made)
    with pytest.raises(NotAuthorized) as refused:
        resolve({"password": reference})
    assert expected in str(refused.value)
    assert str(refused.value).startswith("password: ")
    assert "hunter2" not in str(refused.value)


def test_secret_is_kept_until_a_fresh_one_is_wanted(secrets: "SecretsManagerClient") -> None:
    settings = {"password": "secret:db"}
    secrets.create_secret(Name="db", SecretString="old")
    assert resolve(settings) == {"password": "old"}
    secrets.put_secret_value(SecretId="db", SecretString="new")
    assert resolve(settings) == {"password": "old"}
    assert resolve(settings, fresh=True) == {"password": "new"}
    assert resolve(settings) == {"password": "new"}
