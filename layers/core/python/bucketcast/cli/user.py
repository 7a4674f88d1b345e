"""`bucketcast user`: who may call the gateway, and with which keys."""

import re
from pathlib import Path
from typing import Any

import click

from bucketcast.cli.screen import Screen, shared
from bucketcast.control.users import User
from bucketcast.store import deployed
from bucketcast.store.access import explained
from bucketcast.store.users import Users, new_keys

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")
_ACCESS_KEY = re.compile(r"[A-Za-z0-9_.-]{3,128}")
_SHORTEST, _LONGEST = 8, 128


def _name(_: click.Context, __: click.Parameter, value: str) -> str:
    if not _NAME.fullmatch(value):
        raise click.BadParameter(
            f"found '{value}'; allowed are 1 to 64 letters, digits, `_`, `.`, `@` and `-`, "
            "first a letter or digit"
        )
    return value


def _tenant(context: click.Context, parameter: click.Parameter, value: str) -> str:
    return _name(context, parameter, value) if value else ""


def _access_key(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is not None and not _ACCESS_KEY.fullmatch(value):
        raise click.BadParameter(
            f"found '{value}'; allowed are 3 to 128 letters, digits, `_`, `.` and `-`"
        )
    return value


@click.group()
def command() -> None:
    """Users of the gateway, and their keys.

    A user signs calls to the gateway with a key pair of its own; AWS does not lend out the secrets
    of its users. Whoever is let in may call S3 with the rights that the gateway has.
    """


@command.command()
@click.argument("name", callback=_name)
@click.option("--tenant", default="", callback=_tenant, help="Whose the user's topics are.")
@click.option("--admin", is_flag=True, help="May call the administration too (`mc admin`).")
@click.option(
    "--access-key", callback=_access_key, metavar="KEY", help="By default one is made up."
)
@click.option(
    "--secret-key-file",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    metavar="FILE",
    help="A file that holds the secret key, - for standard input. By default one is made up.",
)
@shared
@click.pass_obj
def add(
    screen: Screen,
    name: str,
    *,
    tenant: str,
    admin: bool,
    access_key: str | None,
    secret_key_file: Path | None,
) -> None:
    """Let somebody call the gateway; the secret key is shown this once.

    \b
    Example:
      bucketcast user add thumbnailer
      bucketcast user add backup --access-key BACKUP --secret-key-file key.txt
    """  # noqa: D301 - click reads the character
    made_key, made_secret = new_keys()
    secret = _read(secret_key_file) if secret_key_file else made_secret
    user = User(name, tenant, access_key or made_key, admin)
    with explained():
        _users(screen).add(user, secret)
    document = {**_document(user), "secret_key": secret}
    screen.answer(
        document,
        f"Successfully added {name}",
        f"  access key: {user.access_key}",
        f"  secret key: {secret}",
    )


@command.command()
@shared
@click.pass_obj
def ls(screen: Screen) -> None:
    """List the users; no secret is shown.

    \b
    Example:
      bucketcast user ls
    """  # noqa: D301 - click reads the character
    with explained():
        users = _users(screen).all()
    screen.table(
        {"users": [{**_document(user), "admin": user.admin} for user in users]},
        ("NAME", "TENANT", "ACCESS KEY", "ADMIN"),
        [(user.name, user.tenant, user.access_key, "yes" * user.admin) for user in users],
        "there is no user: `bucketcast user add NAME`",
    )


@command.command()
@click.argument("name", callback=_name)
@shared
@click.pass_obj
def rm(screen: Screen, name: str) -> None:
    """Let somebody call the gateway no more; in force within five seconds.

    \b
    Example:
      bucketcast user rm thumbnailer
    """  # noqa: D301 - click reads the character
    with explained():
        user = _users(screen).remove(name)
    screen.answer({"removed": _document(user)}, f"Successfully removed {name}")


def _users(screen: Screen) -> Users:
    aws = screen.aws()
    there = deployed.find(screen.stack, aws)
    return Users(there.stack, there.rules_table, aws.dynamodb, aws.secretsmanager)


def _read(file: Path) -> str:
    with click.open_file(str(file)) as opened:
        secret: str = opened.read().strip()
    if not _SHORTEST <= len(secret) <= _LONGEST or not secret.isascii() or not secret.isprintable():
        raise click.BadParameter(
            f"the secret key in {file} has {len(secret)} characters; allowed are {_SHORTEST} to "
            f"{_LONGEST} printable ones of ASCII",
            param_hint="--secret-key-file",
        )
    return secret


def _document(user: User) -> dict[str, Any]:
    return {"name": user.name, "tenant": user.tenant, "access_key": user.access_key}
