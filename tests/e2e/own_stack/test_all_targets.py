"""One stack with a target of every kind: each holds what MinIO's guide says, whatever happens."""

import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.chaos.plan import plan
from tests.chaos.run import prepare, run, shorten_visibility
from tests.e2e import arrivals
from tests.e2e.all_servers import AllServers
from tests.e2e.deployment import Local, write_configuration
from tests.e2e.system import Deployed

PUT, DELETE = "s3:ObjectCreated:Put", "s3:ObjectRemoved:Delete"
BUCKET = "uploads"
COPIES = 100
AWS_SECONDS = 600.0
ONLINE_SECONDS = 600.0
COPIED_SECONDS = 600.0
CHAOS_EVENTS = 300
CHAOS_SEED = 1
CHAOS_SECONDS = 600.0
BACK_SECONDS = 15
"""After so long what a killed function had is seen again."""


@pytest.fixture(scope="module")
def deployed(all_servers: AllServers, servers_folder: Path) -> Iterator[Deployed]:
    """`make up CONFIG=…` with one target of each kind, and a rule for each."""
    folder = servers_folder / "ten"
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    config = folder / "bucketcast.toml"
    write_configuration(config, {BUCKET: {"via": "sqs"}}, all_servers.targets())
    local = Local(folder / "local")
    try:
        local.up(config)
        made = Deployed(local, config, elsewhere)
        assert made.targets.keys() == all_servers.targets().keys()
        for name in made.targets:
            made.add_rule(BUCKET, name)
        wait_until_online(made)
        yield made
        made.close()
    finally:
        local.stop()


def test_ten_targets_show_copies_and_deletes(
    all_servers: AllServers, deployed: Deployed, prefix: str, tmp_path: Path
) -> None:
    names = [f"{number:03}.jpg" for number in range(COPIES)]
    for number, name in enumerate(names):
        (tmp_path / name).write_bytes(b"x" * number)
    copy_all(deployed, tmp_path, prefix)
    delete(deployed, prefix, "*[02468].jpg")
    deployed.until_settled(within=COPIED_SECONDS)

    keys = [prefix + name for name in names]
    assert_complete(all_servers, deployed, prefix, puts=keys, deletes=keys[::2])
    often = {kind: max(logged.values()) for kind, logged in all_servers.logged(_at(prefix)).items()}
    assert often == dict.fromkeys(all_servers.logs, 1), "where nothing fails no event comes twice"
    assert deployed.depths() == {}


def test_nothing_is_lost_and_no_row_is_wrong_while_everything_breaks(
    all_servers: AllServers, deployed: Deployed, prefix: str
) -> None:
    """`make chaos` in small."""
    prepare(deployed, all_servers)
    shorten_visibility(deployed, BACK_SECONDS)
    planned = plan(CHAOS_EVENTS, CHAOS_SEED, sorted(deployed.targets), together=5)
    try:
        result = run(planned, deployed, all_servers, (BUCKET, prefix), settle=CHAOS_SECONDS)
    finally:
        all_servers.restore_logins()
    assert (result.verdict.lost, result.verdict.wrong) == ({}, {})
    assert len(result.faults) == len(planned.faults)
    assert deployed.depths() == {}, "the poison was taken out, and there was nothing else"


def assert_complete(
    all_servers: AllServers,
    deployed: Deployed,
    prefix: str,
    *,
    puts: Sequence[str],
    deletes: Sequence[str],
) -> None:
    """Mirrors are as the bucket is; logs have each of these events, maybe again."""
    left = arrivals.bucket(deployed, BUCKET, prefix)
    assert left.keys() == {_at(key) for key in {*puts} - {*deletes}}
    for kind, mirror in all_servers.mirrored(_at(prefix)).items():
        assert mirror == left, kind
    happened = Counter([(PUT, _at(key)) for key in puts] + [(DELETE, _at(key)) for key in deletes])
    for kind, logged in all_servers.logged(_at(prefix)).items():
        assert Counter((each.name, each.path) for each in logged) == happened, kind


def wait_until_online(deployed: Deployed) -> None:
    """Until `bucketcast target ls` says so of each target; each may have to start a function."""

    def offline() -> dict[str, str]:
        return {name: each["why"] for name, each in deployed.fares().items() if not each["online"]}

    deployed.until("each target online", offline, lambda seen: not seen, within=ONLINE_SECONDS)


def copy_all(deployed: Deployed, folder: Path, prefix: str) -> None:
    """`aws s3 cp` of a folder, or the same by boto3 where that command is not."""
    if not _aws(deployed, "cp", str(folder), f"s3://{_at(prefix)}"):
        for file in sorted(folder.iterdir()):
            deployed.s3.upload_file(str(file), BUCKET, prefix + file.name)


def delete(deployed: Deployed, prefix: str, names: str) -> None:
    """`aws s3 rm` of what has such names, or the same by boto3 where that command is not."""
    if not _aws(deployed, "rm", f"s3://{_at(prefix)}", "--exclude", "*", "--include", names):
        for path in arrivals.bucket(deployed, BUCKET, prefix):
            if fnmatch(path, names):
                deployed.s3.delete_object(Bucket=BUCKET, Key=path.removeprefix(f"{BUCKET}/"))


def _aws(deployed: Deployed, *words: str) -> bool:
    """Run `aws s3 … --recursive`; false where there is no such command."""
    program = shutil.which("aws") or ""
    if not program or subprocess.run([program, "--version"], check=False).returncode:
        return False
    ran = subprocess.run(
        [program, "s3", *words, "--recursive", "--only-show-errors"],
        cwd=deployed.elsewhere,
        env=deployed.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=AWS_SECONDS,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return True


def _at(key: str) -> str:
    return f"{BUCKET}/{key}"
