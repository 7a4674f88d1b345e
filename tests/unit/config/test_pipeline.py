"""`[pipeline]` and `[scan.BUCKET]`: their effective values, and their errors."""

import pytest

from tests.unit.config.folder import Folder

PIPELINE = "[pipeline]\n"
DAILY = '[scan.uploads]\nschedule = "rate(1 day)"\n'
REPORTED = '[scan.uploads]\non = "inventory"\n'


def test_a_scan_has_options_as_text(folder: Folder) -> None:
    scan = folder.load(f"{PIPELINE}{DAILY}alert_excess_versions = 500\n").scans["uploads"]
    assert scan.options == {"alert_excess_versions": "500"}
    assert (scan.schedule, scan.on_inventory, scan.report) == ("rate(1 day)", False, None)


def test_a_scan_on_inventory_has_the_folder_of_reports(folder: Folder) -> None:
    source = 'source = "s3://inventories/uploads/daily/"\n'
    scan = folder.load(PIPELINE + REPORTED + source).scans["uploads"]
    assert scan.on_inventory
    assert scan.report == ("inventories", "uploads/daily")


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        ('subnet = "subnet-0a"', "pipeline.security_groups: missing; jobs in a VPC need it"),
        ("[scan.uploads]", "scan.uploads.schedule: missing"),
        ('[scan.uploads]\nschedule = "daily"', "scan.uploads.schedule: found 'daily'; allowed is"),
        (f"{DAILY}alert_wrose = 3", "did you mean 'alert_worse'?"),
        (f'{DAILY}source = "hive"', "found 'hive'; allowed is"),
        (f'{DAILY}source = "metadata"', 'metadata = "on" in [pipeline]'),
        (REPORTED, "scan.uploads.source: found '' beside on"),
        (f'{REPORTED}source = "s3://a/manifest.json"', "found 's3://a/manifest.json' beside on"),
        (DAILY.replace("uploads", "Up_loads"), "scan.Up_loads: invalid bucket name"),
    ],
)
def test_errors_name_the_key_and_the_allowed_values(
    folder: Folder, toml: str, expected: str
) -> None:
    assert expected in "\n".join(folder.problems(f"{PIPELINE}{toml}\n"))
