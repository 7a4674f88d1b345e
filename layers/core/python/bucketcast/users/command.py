"""`bucketcast user`: the gateway's users and their keys."""

from pathlib import Path
from typing import Any

import click

from bucketcast.aws.clients import aws_errors
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, shared
from bucketcast.users import User
from bucketcast.users.aws import Users, new_keys

_MIN_LENGTH, _MAX_LENGTH = 8, 128
_name = params.matching(
    "name",
    r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}",
    "found '{}'; allowed are 1 to 64 letters, digits, `_`, `.`, `@` and `-`, first a letter or "
    "digit",
)
_access_key = params.matching(
    "key",
    r"[A-Za-z0-9_.-]{3,128}",
    "found '{}'; allowed are 3 to 128 letters, digits, `_`, `.` and `-`",
)


def _tenant(value: str) -> str:
    return _name(value) if value else ""


@click.group()
def command() -> None:
    """Manage the gateway's users and their keys.

    Users sign their calls to the gateway with their own key pair, since the secret keys of AWS
    users cannot be read. Every user can call S3 with the rights of the gateway.
    """


@command.command()
@click.argument("name", type=_name)
@click.option("--tenant", type=_tenant, default="", help="Tenant of the user's topics.")
@click.option("--admin", is_flag=True, help="Allow the admin API too (`mc admin`).")
@click.option(
    "--access-key", type=_access_key, metavar="KEY", help="Access key. [default: generated]"
)
@click.option(
    "--secret-key-file",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    metavar="FILE",
    help="File with the secret key, - for standard input. [default: generated]",
)
@shared
def add(
    out: Output,
    name: str,
    *,
    tenant: str,
    admin: bool,
    access_key: str | None,
    secret_key_file: Path | None,
) -> None:
    """Add a user; the secret key is shown only now.

    \b
    Example:
      bucketcast user add thumbnailer
      bucketcast user add backup --access-key BACKUP --secret-key-file key.txt
    """  # noqa: D301 - click reads the character
    generated_key, generated_secret = new_keys()
    secret = _read_secret(secret_key_file) if secret_key_file else generated_secret
    user = User(name, tenant, access_key or generated_key, admin)
    with aws_errors():
        _users(out).add(user, secret)
    document = {**_document(user), "secret_key": secret}
    out.answer(
        document,
        f"Successfully added {name}",
        f"  access key: {user.access_key}",
        f"  secret key: {secret}",
    )


@command.command()
@shared
def ls(out: Output) -> None:
    """List the users, without secrets.

    \b
    Example:
      bucketcast user ls
    """  # noqa: D301 - click reads the character
    with aws_errors():
        users = _users(out).all()
    out.table(
        {"users": [{**_document(user), "admin": user.admin} for user in users]},
        ("NAME", "TENANT", "ACCESS KEY", "ADMIN"),
        [(user.name, user.tenant, user.access_key, "yes" * user.admin) for user in users],
        "there are no users; add one with `bucketcast user add NAME`",
    )


@command.command()
@click.argument("name", type=_name)
@shared
def rm(out: Output, name: str) -> None:
    """Remove a user; takes effect within five seconds.

    \b
    Example:
      bucketcast user rm thumbnailer
    """  # noqa: D301 - click reads the character
    with aws_errors():
        user = _users(out).remove(name)
    out.answer({"removed": _document(user)}, f"Successfully removed {name}")


def _users(out: Output) -> Users:
    deployment, aws = out.deployed()
    return Users(deployment.stack, deployment.state_table, aws.dynamodb, aws.secretsmanager)


def _read_secret(file: Path) -> str:
    with click.open_file(str(file)) as stream:
        secret: str = stream.read().strip()
    if (
        not _MIN_LENGTH <= len(secret) <= _MAX_LENGTH
        or not secret.isascii()
        or not secret.isprintable()
    ):
        raise click.BadParameter(
            f"the secret key in {file} has {len(secret)} characters; allowed are {_MIN_LENGTH} to "
            f"{_MAX_LENGTH} printable ASCII characters",
            param_hint="--secret-key-file",
        )
    return secret


def _document(user: User) -> dict[str, Any]:
    return {"name": user.name, "tenant": user.tenant, "access_key": user.access_key}
