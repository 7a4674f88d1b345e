"""`[pipeline]` and `[scan.BUCKET]`: their effective values, and their errors."""

from pathlib import Path

import pytest

from bucketcast.config import Deployment, load
from bucketcast.errors import ConfigErrors

PIPELINE = "[pipeline]\n"


def _load(folder: Path, toml: str) -> Deployment:
    path = folder / "bucketcast.toml"
    path.write_text(toml)
    return load(path, {}, local=False)


def test_a_deployment_without_the_table_has_no_jobs(tmp_path: Path) -> None:
    config = _load(tmp_path, "[bucket.uploads]\n")
    assert config.pipeline is None
    assert not config.scans


def test_an_empty_table_has_defaults(tmp_path: Path) -> None:
    options = _load(tmp_path, PIPELINE).pipeline
    assert options is not None
    assert (options.glue_version, options.worker_type, options.workers) == ("6.0", "G.1X", 10)
    assert float(options.timeout) == 8 * 3600
    assert options.execution_class == "standard"


def test_a_scan_has_options_as_text(tmp_path: Path) -> None:
    toml = '[scan.uploads]\nschedule = "rate(1 day)"\nalert_excess_versions = 500\n'
    scan = _load(tmp_path, PIPELINE + toml).scans["uploads"]
    assert scan.options == {"alert_excess_versions": "500"}
    assert (scan.schedule, scan.on_inventory, scan.report) == ("rate(1 day)", False, None)


def test_a_scan_on_inventory_has_the_folder_of_reports(tmp_path: Path) -> None:
    toml = '[scan.uploads]\non = "inventory"\nsource = "s3://inventories/uploads/daily/"\n'
    scan = _load(tmp_path, PIPELINE + toml).scans["uploads"]
    assert scan.on_inventory
    assert scan.report == ("inventories", "uploads/daily")


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        ('glue_version = "5.0"', "pipeline.glue_version: found '5.0'; allowed is one of 6.0, 5.1"),
        ('worker_type = "G.3X"', "pipeline.worker_type: found 'G.3X'; allowed is one of G.1X"),
        ("workers = 1", "pipeline.workers: found '1'; allowed is 2 to 299"),
        ('timeout = "200h"', "pipeline.timeout: found '200h'; allowed is 1m to 168h"),
        ('subnet = "subnet-0a"', "pipeline.security_groups: missing; jobs in a VPC need it"),
        ("[scan.uploads]", "scan.uploads.schedule: missing"),
        ('[scan.uploads]\nschedule = "daily"', "scan.uploads.schedule: found 'daily'; allowed is"),
        (
            '[scan.uploads]\nschedule = "rate(1 day)"\nalert_wrose = 3',
            "did you mean 'alert_worse'?",
        ),
        ('[scan.uploads]\nschedule = "rate(1 day)"\nsource = "hive"', "found 'hive'; allowed is"),
        (
            '[scan.uploads]\nschedule = "rate(1 day)"\nsource = "metadata"',
            'metadata = "on" in [pipeline]',
        ),
        ('[scan.uploads]\non = "inventory"', "scan.uploads.source: found '' beside on"),
        (
            '[scan.uploads]\non = "inventory"\nsource = "s3://a/manifest.json"',
            "found 's3://a/manifest.json' beside on",
        ),
        ('[scan.Up_loads]\nschedule = "rate(1 day)"', "scan.Up_loads: invalid bucket name"),
    ],
)
def test_errors_name_the_key_and_the_allowed_values(
    tmp_path: Path, toml: str, expected: str
) -> None:
    with pytest.raises(ConfigErrors) as caught:
        _load(tmp_path, f"{PIPELINE}{toml}\n")
    assert expected in str(caught.value)


def test_a_scan_without_the_jobs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigErrors, match=r"scan\.uploads: found without the jobs"):
        _load(tmp_path, '[scan.uploads]\nschedule = "rate(1 day)"\n')
