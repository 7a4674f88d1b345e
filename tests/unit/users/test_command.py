"""`bucketcast user`: a secret key is shown once."""

from pathlib import Path

import pytest

from tests.unit.conftest import Run, cells
from tests.unit.moto_aws import MotoAws

pytestmark = pytest.mark.usefixtures("aws")


def test_a_user_is_added_shown_and_removed(run: Run) -> None:
    added = run("user", "add", "anna", "--tenant", "shop", "--json")
    assert added.code == 0
    document = added.document
    assert document.keys() == {"status", "name", "tenant", "access_key", "secret_key"}
    assert (document["name"], document["tenant"]) == ("anna", "shop")
    listed = run("user", "ls", "--json")
    assert document["secret_key"] not in listed.out
    assert listed.document["users"] == [
        {"name": "anna", "tenant": "shop", "access_key": document["access_key"], "admin": False}
    ]
    assert cells(run("user", "ls").out)[1] == ["anna", "shop", document["access_key"]]
    assert run("user", "rm", "anna").out == "Successfully removed anna\n"
    assert run("user", "ls", "--json").document["users"] == []
    repeated = run("user", "rm", "anna")
    assert (repeated.code, "no user anna" in repeated.err) == (1, True)


def test_own_keys_come_from_the_option_and_a_file(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("s3cret-of-mine\n")
    own = ["--access-key", "backup", "--secret-key-file", str(file)]
    document = run("user", "add", "backup", *own, "--admin", "--json").document
    assert (document["access_key"], document["secret_key"]) == ("backup", "s3cret-of-mine")
    duplicate = run("user", "add", "other", *own)
    assert (duplicate.code, "already" in duplicate.err) == (1, True)
    assert "s3cret" not in duplicate.err
    file.write_text("short")
    refused = run("user", "add", "third", "--secret-key-file", str(file))
    assert (refused.code, "has 5 characters" in refused.err) == (2, True)


@pytest.mark.parametrize("arguments", [("a b",), ("",), ("ok", "--access-key", "no/slash")])
def test_invalid_names_are_refused(run: Run, arguments: tuple[str, ...], aws: MotoAws) -> None:
    assert run("user", "add", *arguments).code == 2
    assert aws.secretsmanager.list_secrets()["SecretList"] == []


def test_an_empty_tenant_is_accepted(run: Run) -> None:
    assert run("user", "add", "anna", "--tenant", "", "--json").document["tenant"] == ""
