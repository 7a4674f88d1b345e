"""A cluster of PostgreSQL, for the demo and the tests: its programs, files and account.

PostgreSQL refuses to run as root. There it runs as the system's user `postgres`, and where that
user cannot pass a parent of the folder (root's temporary folders are 0700), its files lie
elsewhere, behind the link `home`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from localstack import machine
from localstack.layout import Failure

ACCOUNT = "postgres"
FOLDERS = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin")


def initdb() -> Path | None:
    """Return the program that makes a cluster, with the server's beside it; None without them."""
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        return None
    program = machine.newest("initdb", *FOLDERS) or shutil.which("initdb")
    return Path(program).resolve() if program else None


def home(folder: Path) -> Path:
    """Return the folder of the cluster's files: in `folder`, if its account can reach that."""
    if os.geteuid() != 0:
        return folder
    link = folder / "home"
    if not link.exists():
        link.unlink(missing_ok=True)  # a link to a folder that was removed
        parents = folder.resolve(), *folder.resolve().parents
        if all(parent.stat().st_mode & 0o001 for parent in parents):
            link.mkdir(mode=0o700)
        else:
            link.symlink_to(tempfile.mkdtemp(prefix="bucketcast-postgres-"))
        give(link)
    return link.resolve()


def give(path: Path) -> None:
    """Give a file or folder to the account that the server runs as."""
    if os.geteuid() == 0:
        shutil.chown(path, ACCOUNT, ACCOUNT)


def ensure(initdb: Path, home: Path, admin: str, secret: str) -> Path:
    """Return the cluster's folder in `home`; make it if absent, with a superuser and its password.

    It is made beside its place, so that an unfinished one is not taken for a cluster.

    Raises:
        Failure: it cannot be made; with the output of `initdb`.
    """
    data, unfinished, password = home / "data", home / "data.new", home / "password"
    if (data / "PG_VERSION").exists():
        return data
    shutil.rmtree(unfinished, ignore_errors=True)
    password.unlink(missing_ok=True)
    password.touch(mode=0o600)
    password.write_text(secret)
    give(password)
    command = [*_as_account(), str(initdb), "-D", str(unfinished), "-U", admin]
    command += [f"--pwfile={password}", "-A", "scram-sha-256", "-E", "UTF8", "--locale=C"]
    try:
        result = subprocess.run(
            [*command, "--no-sync"],
            cwd=home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        password.unlink()
    if result.returncode:
        raise Failure(f"{initdb} ended with {result.returncode}:\n{result.stdout}{result.stderr}")
    unfinished.rename(data)
    return data


def command(initdb: Path, data: Path, port: int, **options: str) -> list[str]:
    """Return the command of a cluster's server, on 127.0.0.1; SIGINT ends it at once.

    SIGTERM would wait for the clients to leave.
    """
    settings = {
        "listen_addresses": "127.0.0.1",
        "port": str(port),
        "unix_socket_directories": "",  # their paths are limited to about 100 characters
        **options,
    }
    server = [*_as_account(), str(initdb.with_name("postgres")), "-D", str(data)]
    return [
        *server,
        *(part for name, value in settings.items() for part in ("-c", f"{name}={value}")),
    ]


def _as_account() -> list[str]:
    """Return the beginning of a command that makes root's run as the account."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", f"--reuid={ACCOUNT}", f"--regid={ACCOUNT}", "--clear-groups"]
