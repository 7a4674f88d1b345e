"""`bucketcast user`: a secret key is shown once."""

from pathlib import Path

import pytest

from bucketcast.users.aws import Users
from tests.unit.conftest import Run, cells
from tests.unit.moto_aws import MotoAws

pytestmark = pytest.mark.usefixtures("aws")


def test_a_user_is_added_shown_and_removed(run: Run) -> None:
    added = run("user", "add", "anna", "--tenant", "shop", "--json")
    assert added.code == 0
    document = added.document
    assert (document["name"], document["tenant"]) == ("anna", "shop")
    listed = run("user", "ls", "--json")
    assert document["secret_key"] not in listed.out
    key = document["access_key"]
    assert listed.document["users"] == [
        {
            "name": "anna",
            "tenant": "shop",
            "access_key": key,
            "access_keys": [key],
            "admin": False,
            "rights": {},
        }
    ]
    assert cells(run("user", "ls").out)[1] == ["anna", "shop", key]
    assert run("user", "rm", "anna").out == "Successfully removed anna\n"
    assert run("user", "ls", "--json").document["users"] == []
    assert "no user anna" in run("user", "rm", "anna").said(1)


def test_own_keys_come_from_the_option_and_a_file(run: Run, tmp_path: Path, aws: MotoAws) -> None:
    file = tmp_path / "key"
    file.write_text("s3cret-of-mine\n")
    own = ["--access-key", "backup", "--secret-key-file", str(file)]
    assert run("user", "add", "backup", *own, "--admin").out == (
        "Successfully added backup\n  access key: backup\n"
    )
    users = Users("Bucketcast", aws.outputs["StateTable"], aws.dynamodb, aws.secretsmanager)
    account = users.find("backup")
    assert account
    assert account.secret == "s3cret-of-mine"
    second = ["--access-key", "second", "--secret-key-file", str(file), "--json"]
    assert "secret_key" not in run("user", "key", "add", "backup", *second).document
    duplicate = run("user", "add", "other", *own).said(1)
    assert "already" in duplicate
    assert "s3cret" not in duplicate
    file.write_text("short")
    refused = run("user", "add", "third", "--secret-key-file", str(file))
    assert "has 5 characters" in refused.said(2)


@pytest.mark.parametrize("arguments", [("a b",), ("",), ("ok", "--access-key", "no/slash")])
def test_invalid_names_are_refused(run: Run, arguments: tuple[str, ...], aws: MotoAws) -> None:
    assert run("user", "add", *arguments).code == 2
    assert aws.secretsmanager.list_secrets()["SecretList"] == []


def test_rights_are_given_shown_and_taken(run: Run) -> None:
    given = ("--bucket", "photos-*=create,write,lock,read", "--bucket", "logs=notify")
    first = run("user", "add", "anna", "--tenant", "t", *given, "--json").document["access_key"]
    second = run("user", "key", "add", "anna", "--json").document["access_key"]
    assert cells(run("user", "ls").out)[1:] == [
        ["anna", "t", first, "photos-*=read,write,create,lock"],
        ["", second, "logs=notify"],
    ]
    (shown,) = run("user", "ls", "--json").document["users"]
    assert shown["access_keys"] == [first, second]
    assert shown["rights"] == {
        "photos-*": ["read", "write", "create", "lock"],
        "logs": ["notify"],
    }
    changed = run("user", "set", "anna", "--admin", "--bucket", "photos-*=none")
    assert changed.out == "anna has: admin logs=notify\n"
    assert run("user", "set", "anna", "--no-admin").out == "anna has: logs=notify\n"
    assert run("user", "key", "rm", "anna", first).code == 0
    assert "only key" in run("user", "key", "rm", "anna", second).said(1)


@pytest.mark.parametrize(
    ("grant", "found"),
    [
        ("photos", "found 'photos'; allowed is PATTERN=RIGHTS"),
        ("photos=reed", "found the rights 'reed' in 'photos=reed'; allowed are read"),
        ("photos=read,none", "found the rights 'read,none'"),
        ("a/b=read", "found the pattern 'a/b'; allowed are letters"),
        ("photos-[ab=read", "found the pattern 'photos-[ab'"),
        ("=read", "found the pattern ''"),
        (f"{'a' * 256}=read", "found the pattern 'aaa"),
    ],
)
def test_wrong_rights_are_refused(run: Run, grant: str, found: str) -> None:
    assert found in run("user", "add", "anna", "--bucket", grant).said(2)


def test_a_change_of_nothing_is_refused(run: Run) -> None:
    assert "nothing to change" in run("user", "set", "anna").said(2)


def test_rights_add_up_for_patterns_with_classes_of_characters_and_an_empty_tenant(
    run: Run,
) -> None:
    pattern = "photos-[!ab]?.*"
    rights = ("--bucket", f"{pattern}=write", "--bucket", f"{pattern}=read")
    shown = run("user", "add", "anna", "--tenant", "", *rights, "--json").document
    assert (shown["tenant"], shown["rights"]) == ("", {pattern: ["read", "write"]})


def test_the_patterns_of_a_user_have_a_length_in_all(run: Run) -> None:
    grants = (f"--bucket={number}{'a' * 250}=read" for number in range(17))
    assert "a user may have 100 of 4,096" in run("user", "add", "anna", *grants).said(2)
