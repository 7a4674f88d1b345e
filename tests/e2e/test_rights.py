"""The check of the roles, which the local AWS does not make: it is what ends the run."""

from tests.e2e import iam
from tests.e2e.system import System

FORBIDDEN = iam.Call("Bucketcast-ingest", "s3", "DeleteObject", {"Bucket": "uploads", "Key": "a"})


def test_check_of_rights_reports_a_call_without_one(system: System) -> None:
    calls = [FORBIDDEN, FORBIDDEN._replace(function="Bucketcast-scan")]
    assert system.refused(calls) == [
        "Bucketcast-ingest may not s3:DeleteObject on arn:aws:s3:::uploads/a",
        "Bucketcast-scan may not s3:DeleteObject on arn:aws:s3:::uploads/a",
    ]
