"""A cluster is complete or absent, and its password is in no list of arguments."""

import os
import subprocess
from pathlib import Path

import pytest

from localstack import machine, postgres
from localstack.layout import ROOT, Failure

INITDB = """\
#!/bin/sh
echo "$@" > arguments
cat password > secret
ls -l password > mode
for word in "$@"; do case $before in -D) data=$word;; esac; before=$word; done
mkdir "$data" && echo 17 > "$data/PG_VERSION"
"""


@pytest.fixture
def initdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that makes a cluster as `initdb` does, for a user who is not root."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    program = tmp_path / "initdb"
    program.write_text(INITDB)
    program.chmod(0o755)
    return program


def test_cluster_is_made_once(initdb: Path, tmp_path: Path) -> None:
    data = postgres.ensure(initdb, tmp_path, "ann", "hunter2")
    assert (data / "PG_VERSION").exists()
    assert (tmp_path / "secret").read_text() == "hunter2"
    assert (tmp_path / "mode").read_text().startswith("-rw-------")
    assert "hunter2" not in (tmp_path / "arguments").read_text()
    assert not (tmp_path / "password").exists()
    initdb.unlink()
    assert postgres.ensure(initdb, tmp_path, "ann", "hunter2") == data


def test_unfinished_cluster_is_made_again(initdb: Path, tmp_path: Path) -> None:
    initdb.write_text(INITDB + "echo no space left; exit 1")
    (tmp_path / "password").write_text("of an interrupted one")
    with pytest.raises(Failure, match="ended with 1:\nno space left"):
        postgres.ensure(initdb, tmp_path, "ann", "hunter2")
    assert not (tmp_path / "password").exists()
    initdb.write_text(INITDB)
    assert (postgres.ensure(initdb, tmp_path, "ann", "hunter2") / "PG_VERSION").exists()


def test_clean_removes_files_that_lie_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(postgres, "give", lambda _: None)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    checkout = tmp_path / "of-root-only"
    checkout.mkdir(mode=0o700)
    folder = checkout / ".local" / "demo" / "postgres"
    folder.mkdir(parents=True)
    home = postgres.home(folder)
    (home / "data").mkdir()
    assert not home.is_relative_to(checkout)
    make = ["make", "-f", str(ROOT / "Makefile"), "--old-file", "stop", "clean"]
    for _ in range(2):
        subprocess.run(make, cwd=checkout, check=True, capture_output=True)
        assert not home.exists()
        assert not folder.exists()


def test_server_listens_here_only(initdb: Path, tmp_path: Path) -> None:
    command = postgres.command(initdb, tmp_path / "data", 5433, ssl="on")
    assert command[:3] == [str(tmp_path / "postgres"), "-D", str(tmp_path / "data")]
    assert {"listen_addresses=127.0.0.1", "port=5433", "ssl=on"} < set(command)


def test_newest_version_is_found(tmp_path: Path) -> None:
    for version in ("9.6", "17", "16.4"):
        folder = tmp_path / version / "bin"
        folder.mkdir(parents=True)
        (folder / "initdb").touch(mode=0o755)
    (tmp_path / "18" / "bin").mkdir(parents=True)
    assert machine.newest("initdb", f"{tmp_path}/*/bin") == f"{tmp_path}/17/bin/initdb"
    assert machine.newest("initdb", f"{tmp_path}/none/*") is None
