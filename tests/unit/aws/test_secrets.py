"""References are resolved by Secrets Manager, with as few calls as possible."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import boto3
import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError, ParamValidationError
from botocore.parsers import JSONParser
from botocore.retries import standard

from bucketcast.aws import function_clients
from bucketcast.aws.secrets import (
    FAILED_SECONDS,
    FRESH_SECONDS,
    MAX_AGE_SECONDS,
    forget,
    resolve,
)
from bucketcast.errors import NotAuthorized, Unavailable
from tests.unit.moto_aws import refusal

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient


@pytest.fixture
def secrets(mocked_aws: None) -> "SecretsManagerClient":  # noqa: ARG001 - it answers
    forget()
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
        ({"SecretString": "plain"}, "secret:s#field", "not a JSON object with a field 'field'"),
        ({"SecretString": "{}"}, "secret:s#field", "not a JSON object with a field 'field'"),
        ({"SecretString": "[1]"}, "secret:s#field", "not a JSON object with a field 'field'"),
        ({"SecretString": '"hunter2"'}, "secret:s#field", "not a JSON object with a field 'field'"),
        ({"SecretBinary": b"hunter2\xff"}, "secret:s", "the secret 's' is not text in UTF-8"),
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


class Calls:
    """What Secrets Manager was asked for, on a clock that is moved by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answer: str | Exception) -> None:
        self.answer = answer
        self.number = 0
        self.now = 1_800_000_000.0
        forget()
        monkeypatch.setattr(function_clients, "client", lambda _: self)
        monkeypatch.setattr("bucketcast.aws.secrets.time.time", lambda: self.now)
        self.meta = Mock()

    def get_secret_value(self, **_: Any) -> dict[str, str]:
        self.number += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return {"SecretString": self.answer}


def test_secret_is_read_afresh_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls(monkeypatch, "old")
    settings = {"password": "secret:db"}
    resolve(settings)
    calls.number = 0
    assert [resolve(settings, fresh=True)["password"] for _ in range(100)] == ["old"] * 100
    calls.answer = "new"
    assert resolve(settings, fresh=True) == {"password": "old"}
    assert calls.number == 1
    calls.now += FRESH_SECONDS
    assert resolve(settings, fresh=True) == {"password": "new"}
    assert calls.number == 2


def _without_document(status: int) -> ClientError:
    """Return the error of an answer that is no JSON, as botocore makes it."""
    parser: Any = JSONParser()
    answer = {"status_code": status, "headers": {}, "body": b"<html>"}
    return ClientError(parser.parse(answer, None), "GetSecretValue")


_TRIED_AGAIN = {
    *standard.ThrottledRetryableChecker._THROTTLED_ERROR_CODES,  # type: ignore[attr-defined]
    *standard.TransientRetryableChecker._TRANSIENT_ERROR_CODES,  # type: ignore[attr-defined]
}
"""The codes for which botocore tries a call again."""
NO_ANSWER = pytest.mark.parametrize(
    "error",
    [
        ConnectTimeoutError(endpoint_url="https://secretsmanager"),
        *map(refusal, sorted(_TRIED_AGAIN)),
        refusal("InternalServiceError"),
        *map(_without_document, (500, 502, 503, 504)),
    ],
)


@NO_ANSWER
def test_secrets_manager_that_does_not_answer_is_no_refused_login(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    calls = Calls(monkeypatch, error)
    settings = {"password": "secret:db"}
    for fresh in (False, True, False, True):
        with pytest.raises(Unavailable, match="the secret 'db' cannot be read: "):
            resolve(settings, fresh=fresh)
    assert calls.number == 1
    calls.answer = "found"
    calls.now += FAILED_SECONDS
    assert resolve(settings) == {"password": "found"}


@pytest.mark.parametrize(
    "error",
    [
        refusal("AccessDeniedException"),
        refusal("ResourceNotFoundException"),
        ParamValidationError(report="its name"),
    ],
)
def test_what_is_wrong_with_a_secret_is_asked_once_in_a_while(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    calls = Calls(monkeypatch, error)
    for fresh in (False, True):
        with pytest.raises(NotAuthorized):
            resolve({"password": "secret:db"}, fresh=fresh)
    assert calls.number == 1


@NO_ANSWER
def test_secret_that_is_known_is_used_while_it_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    calls = Calls(monkeypatch, "known")
    settings = {"password": "secret:db"}
    resolve(settings)
    calls.answer = error
    calls.now += MAX_AGE_SECONDS
    for fresh in (False, True):
        assert resolve(settings, fresh=fresh) == {"password": "known"}
    assert calls.number == 2


def test_fresh_read_without_an_answer_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls(monkeypatch, "old")
    settings = {"password": "secret:db"}
    resolve(settings)
    calls.answer = refusal("ThrottlingException")
    assert resolve(settings, fresh=True) == {"password": "old"}
    calls.answer = "new"
    calls.now += FAILED_SECONDS
    assert resolve(settings, fresh=True) == {"password": "new"}


def test_secret_that_changes_after_a_probe_is_read_afresh_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = Calls(monkeypatch, "old")
    resolve({"password": "secret:db"}, fresh=True)  # as a probe does
    calls.answer = "new"
    assert resolve({"password": "secret:db"}) == {"password": "old"}
    assert resolve({"password": "secret:db"}, fresh=True) == {"password": "new"}
    calls.answer = "newest"
    forget()
    assert resolve({"password": "secret:db"}) == {"password": "newest"}


def test_threads_that_begin_together_create_one_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session of botocore's is not made for several at a time."""
    forget()
    created: list[str] = []

    def create(service: str) -> Mock:
        created.append(service)
        time.sleep(0.05)
        return Mock(get_secret_value=lambda SecretId: {"SecretString": SecretId})  # noqa: N803

    monkeypatch.setattr(function_clients, "client", create)
    with ThreadPoolExecutor(8) as pool:
        texts = [*pool.map(lambda n: resolve({"a": f"secret:{n}"})["a"], range(8))]
    assert texts == [str(n) for n in range(8)]
    assert created == ["secretsmanager"]
    forget()
