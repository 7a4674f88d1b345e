"""What a scan may alert or clear, by the reach and the columns of its source."""

from typing import Any

import pytest

from bucketcast.errors import BucketcastError
from glue_jobs.listing.schema import Listing
from glue_jobs.scanner.coverage import cover
from tests.glue.inventories import TAKEN

NO_ROWS: Any = None


def source(**settings: Any) -> Listing:
    return Listing(NO_ROWS, **{"versions": True, "taken": TAKEN, "name": "a list", **settings})


def test_a_report_of_a_prefix_covers_only_the_findings_there() -> None:
    report = source(prefixes=("a/", "b/"))
    assert [part.prefix for part in cover(report, "")] == ["a/", "b/"]
    assert [part.prefix for part in cover(report, "b/2026/")] == ["b/2026/"]
    with pytest.raises(BucketcastError, match="--prefix: found 'c/', but a list lists only a/, b/"):
        cover(report, "c/")


@pytest.mark.parametrize(
    ("settings", "kinds"),
    [
        ({}, ("ManyVersions", "LargeVersions", "BigPrefix")),
        ({"lacking": frozenset({"size"})}, ("ManyVersions", "BigPrefix")),
        ({"versions": False}, ("BigPrefix",)),
    ],
)
def test_a_source_covers_what_its_columns_show(
    settings: dict[str, Any], kinds: tuple[str, ...]
) -> None:
    (whole,) = cover(source(**settings), "")
    assert whole.kinds == kinds
