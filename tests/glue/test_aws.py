from typing import Any

import pytest
from botocore.utils import parse_timestamp

from glue_jobs.aws import _parse_time


@pytest.mark.parametrize(
    "value",
    [
        "2024-01-02T03:04:05.678Z",
        "2024-01-02T03:04:05+02:00",
        "2024-01-02T03:04:05",
        "Tue, 02 Jan 2024 03:04:05 GMT",
        "1704164645",
        1704164645,
        1704164645.5,
    ],
)
def test_times_are_read_as_boto3_reads_them(value: Any) -> None:
    assert _parse_time(value) == parse_timestamp(value)
    assert _parse_time(value).utcoffset() == parse_timestamp(value).utcoffset()
