"""Of concurrent scans, the first to move the pointer may send its alerts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from msgspec.structs import replace

from bucketcast.errors import BucketcastError
from glue_jobs import files
from glue_jobs.aws import client
from glue_jobs.scanner.state import Generation, StateStore
from tests.glue.emulator import Emulator


@pytest.fixture
def folder(aws: Emulator, tmp_path: Path) -> str:
    aws.client("s3").create_bucket(Bucket="scan-store")
    return f"s3://scan-store/{tmp_path.name}/uploads"


def generation(folder: str, name: str) -> Generation:
    files.write(f"{folder}/{name}/alert_states/part-0", b"rows")
    return Generation(f"{folder}/{name}", 3)


def test_the_second_of_two_scans_of_one_state_is_refused(folder: str) -> None:
    store = StateStore(folder)
    before = store.current()
    store.commit(generation(folder, "1"), etag=before.etag)

    with pytest.raises(BucketcastError, match=r"current\.json: another scan of this bucket"):
        store.commit(generation(folder, "2"), etag=before.etag)

    assert store.current().folder == f"{folder}/1"
    assert store.current().events == 3


def test_a_write_whose_response_was_lost_is_committed(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, write = StateStore(folder), files.write

    def twice(url: str, content: bytes, **options: str) -> None:
        write(url, content, **options)
        write(url, content, **options)

    monkeypatch.setattr(files, "write", twice)
    store.commit(Generation(f"{folder}/1"), etag=store.current().etag)

    assert store.current().folder == f"{folder}/1"


def test_sweep_removes_only_generations_before_the_last(folder: str) -> None:
    store = StateStore(folder)
    for name in ("1", "2", "3", "4"):
        last = generation(folder, name)
    assert list(files.list_files(folder))

    store.sweep(replace(last, folder=f"{folder}/3"), last)

    assert files.list_folders(folder) == ["3", "4"]


def test_sweep_spares_the_current_generation_if_a_clock_was_put_back(folder: str) -> None:
    store = StateStore(folder)
    oldest, new, before = (generation(folder, name) for name in ("1", "2", "3"))

    store.sweep(before, new)

    assert oldest.folder
    assert files.list_folders(folder) == ["2", "3"]


def test_a_damaged_pointer_is_named_in_the_error(folder: str) -> None:
    files.write(f"{folder}/current.json", b'{"generation": 7')
    with pytest.raises(BucketcastError, match=r"current\.json: found .*remove it, and every"):
        StateStore(folder).current()


def test_what_s3_does_not_remove_is_an_error(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    generation(folder, "1")
    errors = {"Errors": [{"Key": "k", "Code": "AccessDenied", "Message": "it was denied"}]}
    monkeypatch.setattr(client("s3"), "delete_objects", lambda **_: errors)
    with pytest.raises(files.FileError, match=r"k in .*: it was denied \(AccessDenied\)"):
        files.remove(folder)


def test_files_are_removed_as_they_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    s3, calls = MagicMock(), list[str]()

    def pages(**_: str) -> Iterator[Any]:
        for page in range(3):
            calls.append("list")
            yield {"Contents": [{"Key": f"done/{page}/{nth}"} for nth in range(1_000)]}

    s3.get_paginator().paginate = pages

    def remove(**_: Any) -> dict[str, Any]:
        calls.append("remove")
        return {}

    s3.delete_objects = remove
    monkeypatch.setattr(files, "client", lambda _: s3)
    files.remove("s3://pipeline/done")
    assert calls == ["list", "remove"] * 3
