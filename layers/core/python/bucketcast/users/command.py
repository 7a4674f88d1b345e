"""`bucketcast user`: the gateway's users, their keys and their rights."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

import click

from bucketcast.limits import MOST_USER_PATTERNS, MOST_USER_PATTERNS_CHARACTERS
from bucketcast.settings.types import matching
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, shared
from bucketcast.users import RIGHTS, Right, User
from bucketcast.users.aws import Users, new_id, new_keys

_MIN_LENGTH, _MAX_LENGTH = 8, 128
_NONE: Final = "none"
_name = params.checked(
    matching(
        r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}",
        "found '{}'; allowed are 1 to 64 letters, digits, `_`, `.`, `@` and `-`, first a letter or "
        "digit",
    )
)
_access_key = params.checked(
    matching(
        r"[A-Za-z0-9_.-]{3,128}",
        "found '{}'; allowed are 3 to 128 letters, digits, `_`, `.` and `-`",
    )
)
_pattern = params.checked(
    matching(
        r"(?=.{1,255}\Z)([A-Za-z0-9._*?-]|\[!?[A-Za-z0-9._-]+\])+",
        "found the pattern '{}'; allowed are letters, digits, `.`, `_` and `-`, and the wildcards "
        "`*`, `?`, `[abc]` and `[!abc]`",
    )
)
Grant = tuple[str, tuple[Right, ...]]


def _tenant(value: str) -> str:
    return _name(value) if value else ""


def _grant(text: str) -> Grant:
    """Return the pattern and the rights of `PATTERN=RIGHT,RIGHT`."""
    pattern, given, words = text.partition("=")
    if not given:
        raise click.BadParameter(f"found '{text}'; allowed is PATTERN=RIGHTS, such as logs=read")
    named = set(words.split(","))
    if named != {_NONE} and not named <= set(RIGHTS):
        raise click.BadParameter(
            f"found the rights '{words}' in '{text}'; allowed are {', '.join(RIGHTS)}, joined by "
            f"commas, or {_NONE}"
        )
    return _pattern(pattern), tuple(right for right in RIGHTS if right in named)


_grants: Callable[[Any], Any] = click.option(
    "--bucket",
    "grants",
    type=_grant,
    multiple=True,
    metavar="PATTERN=RIGHTS",
    help=f"Rights on buckets with such names: {', '.join(RIGHTS)}, or none. May be repeated.",
)
_own_access_key: Callable[[Any], Any] = click.option(
    "--access-key", type=_access_key, metavar="KEY", help="Access key. [default: generated]"
)
_own_secret_key: Callable[[Any], Any] = click.option(
    "--secret-key-file",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    metavar="FILE",
    help="File with the secret key, - for standard input. [default: generated]",
)


@click.group()
def command() -> None:
    """Manage the gateway's users, their keys and their rights.

    Users sign their calls to the gateway with their own key pairs, since the secret keys of AWS
    users cannot be read. A user has the rights that are given here, and none by making a bucket.
    Every change takes effect within five seconds.
    """


@command.command()
@click.argument("name", type=_name)
@click.option(
    "--tenant", type=_tenant, metavar="TENANT", default="", help="Tenant of the user's topics."
)
@click.option("--admin", is_flag=True, help="Allow everything, the admin API too (`mc admin`).")
@_grants
@_own_access_key
@_own_secret_key
@shared
def add(  # noqa: PLR0913 - one for each option
    out: Output,
    name: str,
    *,
    tenant: str,
    admin: bool,
    grants: tuple[Grant, ...],
    access_key: str | None,
    secret_key_file: Path | None,
) -> None:
    """Add a user; a generated secret key is shown only now.

    \b
    Example:
      bucketcast user add thumbnailer --bucket 'photos-*=read,write,create' --bucket logs=notify
      bucketcast user add backup --access-key BACKUP --secret-key-file key.txt
    """  # noqa: D301 - click reads the character
    access_key, secret = _keys(access_key, secret_key_file)
    user = _with_grants(User(new_id(), name, tenant, (access_key,), admin), grants)
    _users(out).add(user, secret)
    generated = None if secret_key_file else secret
    _show_keys(out, user, access_key, generated, f"Successfully added {name}")


@command.command("set")
@click.argument("name", type=_name)
@click.option("--admin/--no-admin", default=None, help="Allow everything, or no longer.")
@_grants
@shared
def set_(out: Output, name: str, *, admin: bool | None, grants: tuple[Grant, ...]) -> None:
    """Change a user's rights; those for other patterns stay.

    \b
    Example:
      bucketcast user set thumbnailer --bucket 'photos-*=read' --bucket logs=none
      bucketcast user set ann --admin
    """  # noqa: D301 - click reads the character
    if admin is None and not grants:
        raise click.UsageError("nothing to change: give --bucket, --admin or --no-admin")

    def change(user: User) -> User:
        return replace(_with_grants(user, grants), admin=user.admin if admin is None else admin)

    user = _users(out).change(name, change)
    out.answer(_document(user), f"{name} has: {' '.join(_rights(user)) or 'no rights'}")


@command.group()
def key() -> None:
    """Rotate a user's keys.

    Add a second one, use it everywhere, and remove the first.
    """


@key.command("add")
@click.argument("name", type=_name)
@_own_access_key
@_own_secret_key
@shared
def add_key(
    out: Output, name: str, *, access_key: str | None, secret_key_file: Path | None
) -> None:
    """Give a user a second key; a generated secret key is shown only now.

    \b
    Example:
      bucketcast user key add thumbnailer
    """  # noqa: D301 - click reads the character
    access_key, secret = _keys(access_key, secret_key_file)
    user = _users(out).add_key(name, access_key, secret)
    generated = None if secret_key_file else secret
    _show_keys(out, user, access_key, generated, f"Successfully added a key of {name}")


@key.command("rm")
@click.argument("name", type=_name)
@click.argument("access_key", type=_access_key)
@shared
def remove_key(out: Output, name: str, access_key: str) -> None:
    """Remove one of a user's two keys.

    \b
    Example:
      bucketcast user key rm thumbnailer BC0ABCDEFGHIJKLMNOPQ
    """  # noqa: D301 - click reads the character
    user = _users(out).remove_key(name, access_key)
    out.answer(_document(user), f"Successfully removed the key {access_key} of {name}")


@command.command()
@shared
def ls(out: Output) -> None:
    """List the users with their rights, without secrets.

    \b
    Example:
      bucketcast user ls
    """  # noqa: D301 - click reads the character
    users = _users(out).all()
    rows = [
        (name, tenant, key, right)
        for user in users
        for name, tenant, key, right in zip_longest(
            [user.name], [user.tenant], user.keys, _rights(user), fillvalue=""
        )
    ]
    out.table(
        {"users": [_document(user) for user in users]},
        ("NAME", "TENANT", "ACCESS KEY", "RIGHTS"),
        rows,
        "there are no users; add one with `bucketcast user add NAME`",
    )


@command.command()
@click.argument("name", type=_name)
@shared
def rm(out: Output, name: str) -> None:
    """Remove a user, but none of the user's topics.

    These are for administrators then.

    \b
    Example:
      bucketcast user rm thumbnailer
    """  # noqa: D301 - click reads the character
    user = _users(out).remove(name)
    out.answer({"removed": _document(user)}, f"Successfully removed {name}")


def _users(out: Output) -> Users:
    deployment, aws = out.deployed()
    return Users(deployment.stack, deployment.state_table, aws.dynamodb, aws.secretsmanager)


def _with_grants(user: User, grants: Sequence[Grant]) -> User:
    """Return a user with other rights on the buckets of these patterns."""
    given: dict[str, tuple[Right, ...]] = {}
    for pattern, rights in grants:
        both = {*given.get(pattern, ()), *rights}
        given[pattern] = tuple(right for right in RIGHTS if right in both)
    changed = {**user.grants, **given}
    kept = {pattern: rights for pattern, rights in changed.items() if rights}
    size = len("".join(kept))
    if len(kept) > MOST_USER_PATTERNS or size > MOST_USER_PATTERNS_CHARACTERS:
        raise click.UsageError(
            f"found {len(kept)} patterns of {size:,} characters; a user may have "
            f"{MOST_USER_PATTERNS} of {MOST_USER_PATTERNS_CHARACTERS:,}"
        )
    return replace(user, grants=kept)


def _keys(access_key: str | None, secret_key_file: Path | None) -> tuple[str, str]:
    """Return an access key and its secret, each generated if it is not given."""
    generated_key, generated_secret = new_keys()
    secret = _read_secret(secret_key_file) if secret_key_file else generated_secret
    return access_key or generated_key, secret


def _show_keys(out: Output, user: User, access_key: str, generated: str | None, done: str) -> None:
    """Show a new key; its secret only if it was generated, since nobody else has it."""
    document = {**_document(user), "access_key": access_key}
    lines = [done, f"  access key: {access_key}"]
    if generated:
        document["secret_key"] = generated
        lines.append(f"  secret key: {generated}")
    out.answer(document, *lines)


def _read_secret(file: Path) -> str:
    secret = params.read_file(file).strip()
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


def _rights(user: User) -> list[str]:
    """Return a user's rights as `--bucket` takes them."""
    return [
        *(["admin"] if user.admin else []),
        *(f"{pattern}={','.join(rights)}" for pattern, rights in user.grants.items()),
    ]


def _document(user: User) -> dict[str, Any]:
    return {
        "name": user.name,
        "tenant": user.tenant,
        "access_key": user.keys[0],
        "access_keys": list(user.keys),
        "admin": user.admin,
        "rights": {pattern: list(rights) for pattern, rights in user.grants.items()},
    }
