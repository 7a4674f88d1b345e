"""PostgreSQL's files on this machine, and whom they belong to.

It refuses to run as root; there it runs as the system's user `postgres`, and where that user cannot
pass a parent of the folder (root's temporary folders are 0700) its data lies elsewhere, behind the
link `home`.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.servers.machine import find_program
from tests.servers.tls import CLIENT_NAME

Account = tuple[int, int] | None
"""Numbers of a user and a group."""

_PROGRAMS = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
)

IAM_USER = "bucketcast"
"""Whose login the gate of `tests.servers.iam` has checked before the server sees it."""

# The first line that fits decides. The client certificate's user gives a password too, so that a
# test that leaves the certificate out, and nothing else, is refused for that.
_LOGINS = f"""\
hostssl   all {CLIENT_NAME} 127.0.0.1/32 scram-sha-256 clientcert=verify-full
hostnossl all {CLIENT_NAME} 127.0.0.1/32 reject
hostnossl all {IAM_USER} 127.0.0.1/32 trust
host      all all 127.0.0.1/32 scram-sha-256
"""


def initdb() -> Path:
    """The program that makes a cluster, with the server's beside it."""
    return Path(find_program("initdb", *_PROGRAMS))


def account() -> Account:
    """Whom to run as: the user `postgres` where the caller is root, else None, the caller."""
    if os.geteuid() != 0:
        return None
    found = pwd.getpwnam("postgres")
    return found.pw_uid, found.pw_gid


def home(folder: Path, account: Account) -> Path:
    """The folder for the server's own files, one that its account can reach and owns."""
    link = folder / "home"
    if not link.exists():
        link.unlink(missing_ok=True)  # a link whose end was cleaned away
        parents = folder.resolve(), *folder.resolve().parents
        if account is None or all(each.stat().st_mode & 0o001 for each in parents):
            link.mkdir(mode=0o700)
        else:
            link.symlink_to(tempfile.mkdtemp(prefix="bucketcast-postgres-"))
        if account is not None:
            os.chown(link, *account)
    return link.resolve()


def copy(file: Path, home: Path, account: Account) -> str:
    """A copy that belongs to the server's account; it refuses a key that others may read."""
    copied = home / file.name
    shutil.copyfile(file, copied)
    copied.chmod(0o600)
    if account is not None:
        os.chown(copied, *account)
    return str(copied)


def make(initdb: Path, home: Path, account: Account, admin: str, secret: str) -> None:
    """Make an empty cluster below `home` whose superuser is `admin`, with the password `secret`."""
    data = home / "data"
    shutil.rmtree(data, ignore_errors=True)  # what an interrupted one left
    password = home / "password"
    password.touch(mode=0o600)
    password.write_text(secret)
    uid, gid = account or (None, None)
    if account is not None:
        os.chown(password, *account)
    made = subprocess.run(
        [
            *(initdb, "-D", data, "-U", admin, f"--pwfile={password}"),
            *("-A", "scram-sha-256", "-E", "UTF8", "--locale=C", "--no-sync"),
        ],
        cwd=home,
        user=uid,
        group=gid,
        extra_groups=None if account is None else [],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    password.unlink()
    if made.returncode != 0:
        message = f"{initdb} ended with {made.returncode}:\n{made.stdout}{made.stderr}"
        raise RuntimeError(message)
    (data / "pg_hba.conf").write_text(_LOGINS)
