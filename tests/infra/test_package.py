"""What is shipped: the wheel, and the jobs' package in an interpreter without any, as on Glue."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from bucketcast_cdk import package, unpack
from bucketcast_cdk.bundling import Bundles, mirrors
from bucketcast_cdk.platform import local_platform
from tests.infra.conftest import ROOT

BINARY = "msgspec, re2, backports.zstd, pg8000, pymysql, redis, urllib3, jinja2, boto3"
"""The dependencies in the package; pyarrow is Glue's."""


@pytest.fixture(scope="module")
def jobs_zip() -> Path:
    return Bundles(ROOT, local_platform()).jobs()


@pytest.mark.parametrize("first", ["glue_jobs", "bucketcast.rules"])
def test_any_first_import_unpacks_everything(jobs_zip: Path, tmp_path: Path, first: str) -> None:
    code = f"import {first}, bucketcast, glue_jobs, {BINARY}; print(glue_jobs.__file__)"
    process = _clean(jobs_zip, tmp_path, code)
    assert not process.returncode, process.stderr
    (folder,) = tmp_path.iterdir()
    assert process.stdout.splitlines()[0].startswith(f"{folder}/packages/glue_jobs/")
    assert folder.stat().st_mode & 0o777 == 0o700


def test_it_carries_no_command_line(jobs_zip: Path) -> None:
    with zipfile.ZipFile(jobs_zip) as archive:
        names = archive.namelist()
    assert [name for name in names if name.endswith("bucketcast/settings/pipeline.py")]
    assert [name for name in names if name.endswith("bucketcast/targets/redis/mirror.lua")]
    assert not [
        name for name in names if re.search("bucketcast/(cli/|console/|terminal/|.*command)", name)
    ]


def test_parallel_workers_unpack_it_once(jobs_zip: Path, tmp_path: Path) -> None:
    code = "import bucketcast.event, msgspec; print(msgspec.__file__)"
    running = [_start(jobs_zip, tmp_path, code) for _ in range(6)]
    outputs = {process.communicate(timeout=1_200)[0] for process in running}
    assert [process.returncode for process in running] == [0] * 6
    assert len(outputs) == 1
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_of_another_user_is_refused(jobs_zip: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(jobs_zip) as archive:
        digest = archive.read(unpack.CONTENT).decode()
    link = tmp_path / f"bucketcast-{os.getuid()}-{digest}"
    link.symlink_to("/proc/1")
    code = "import os; os.getuid = lambda: 12345"
    (tmp_path / f"bucketcast-12345-{digest}").mkdir()
    process = _clean(jobs_zip, tmp_path, f"{code}; import bucketcast")
    assert "belongs to another user" in process.stderr


def test_the_same_inputs_make_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        folder = tmp_path / name
        (folder / "bucketcast" / "__pycache__").mkdir(parents=True)
        (folder / "bucketcast" / "__init__.py").write_text("")
        (folder / "bucketcast" / "__pycache__" / "stale.pyc").write_bytes(name.encode())
        package.write(tmp_path / f"{name}.zip", [folder], ["__pycache__"])
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_the_package_has_the_kinds_with_a_mirror() -> None:
    assert mirrors() == ["elasticsearch", "mysql", "postgres", "redis"]


def test_the_wheel_and_the_source_archive_are_rebuilt_bit_for_bit(tmp_path: Path) -> None:
    """Elsewhere, later, and by somebody whose files others cannot read."""
    one, two = (_built(tmp_path / name, umask) for name, umask in (("one", 0o022), ("two", 0o077)))
    assert one.keys() == {"bucketcast-1.0.0.tar.gz", "bucketcast-1.0.0-py3-none-any.whl"}
    assert one == two


def _built(folder: Path, umask: int) -> dict[str, bytes]:
    """Return what a copy of the checkout is built into, by name; its files are made now."""
    folder.mkdir()
    copy = 'git ls-files | tar -c -T - | tar -xm --no-same-permissions -C "$1"'
    build = 'cd "$1" && "$0" -m hatchling build -d dist'
    for command in (copy, build):
        words = ["sh", "-ec", command, sys.executable, str(folder)]
        subprocess.run(words, cwd=ROOT, umask=umask, check=True, capture_output=True)
    return {file.name: file.read_bytes() for file in (folder / "dist").iterdir()}


def _start(archive: Path, scratch: Path, code: str) -> "subprocess.Popen[str]":
    """Start an interpreter without installed packages, and with the zip file on its path."""
    return subprocess.Popen(
        [
            sys.executable,
            "-I",
            "-S",
            "-c",
            f"import sys; sys.path[:0] = [{str(archive)!r}]; {code}",
        ],
        env={"TMPDIR": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _clean(archive: Path, scratch: Path, code: str) -> "subprocess.CompletedProcess[str]":
    process = _start(archive, scratch, code)
    out, err = process.communicate(timeout=1_200)
    return subprocess.CompletedProcess([], process.returncode, out, err)
