"""A cluster is complete or absent, and its password is in no list of arguments."""

import os
from pathlib import Path

import pytest

from localstack import postgres
from localstack.layout import Failure

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
