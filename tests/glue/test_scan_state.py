"""Who may tell findings: the first to move the pointer."""

from dataclasses import replace
from pathlib import Path

import pytest

from bucketcast.errors import BucketcastError
from glue_jobs import files
from glue_jobs.scanner.state import Generation, StateStore
from tests.glue.emulator import Emulator

pytestmark = pytest.mark.one_spark


@pytest.fixture(params=["file", "s3"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "file":
        return (tmp_path / "alerts" / "uploads").as_uri()
    aws: Emulator = request.getfixturevalue("aws")
    aws.client("s3").create_bucket(Bucket="scan-memory")
    return f"s3://scan-memory/{tmp_path.name}/uploads"


def generation(home: str, name: str) -> Generation:
    files.write(f"{home}/{name}/alert_states/part-0", b"rows")
    return Generation(f"{home}/{name}", 3, files.ABSENT)


def test_of_two_scans_that_began_with_the_same_state_one_counts(home: str) -> None:
    memory = StateStore(home)
    before = memory.current()
    memory.commit(generation(home, "1"), replaces=before)

    with pytest.raises(BucketcastError, match=r"current\.json: another scan of this bucket"):
        memory.commit(generation(home, "2"), replaces=before)

    assert memory.current().folder == f"{home}/1"
    assert memory.current().events == 3


def test_a_write_whose_answer_was_lost_counts(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, write = StateStore(home), files.write

    def twice(url: str, content: bytes, *, over: str | None = None, kind: str = "") -> None:
        write(url, content, over=over, kind=kind)
        write(url, content, over=over, kind=kind)

    monkeypatch.setattr(files, "write", twice)
    memory.commit(replace(Generation("", 0, ""), folder=f"{home}/1"), replaces=memory.current())

    assert memory.current().folder == f"{home}/1"


def test_only_what_is_older_than_the_last_generation_goes(home: str) -> None:
    memory = StateStore(home)
    for name in ("1", "2", "3", "4"):
        made = generation(home, name)
    assert files.names(home)

    memory.sweep(replace(made, folder=f"{home}/3"))

    assert files.folders(home) == ["3", "4"]


def test_a_pointer_that_is_none_is_named(home: str) -> None:
    files.write(f"{home}/current.json", b'{"generation": 7')
    with pytest.raises(BucketcastError, match=r"current\.json: found .*remove it, and every"):
        StateStore(home).current()
