"""A run holds its bucket's lease while it works, also if the table is unreachable meanwhile."""

from threading import Event
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from bucketcast.errors import BucketcastError
from bucketcast.state.lease import JOBS, Lease
from bucketcast.state.rules import Rules
from glue_jobs.lease import hold
from tests.glue.emulator import Emulator
from tests.unit.moto_aws import TABLE

BUCKET = "uploads"
KEY = {"partition": {"S": JOBS}, "key": {"S": BUCKET}}
SECONDS = 180


@pytest.fixture
def dynamodb(aws: Emulator, rules: Rules) -> Any:  # noqa: ARG001 - makes the table
    return aws.client("dynamodb")


@pytest.fixture
def renewed(monkeypatch: pytest.MonkeyPatch) -> dict[bool, Event]:
    """Renew without a pause, and set the event of each result of a renewal."""
    results, renew = {True: Event(), False: Event()}, Lease.renew

    def renewing(lease: Lease, until: int) -> bool:
        ours = renew(lease, until)
        results[ours].set()
        return ours

    monkeypatch.setattr(Lease, "renew", renewing)
    monkeypatch.setattr("glue_jobs.lease.RENEWAL_SECONDS", 0.01)
    return results


def owner(dynamodb: Any) -> str:
    """Return the run that has the lease."""
    item = dynamodb.get_item(TableName=TABLE, Key=KEY, ConsistentRead=True).get("Item")
    return str(item["run"]["S"]) if item else ""


def test_a_held_lease_is_refused_with_its_owner(dynamodb: Any) -> None:
    with hold(BUCKET, TABLE, "run-1", "scans uploads"):
        with (
            pytest.raises(
                BucketcastError,
                match=r"^run-1 scans uploads now; wait until it has ended$",
            ),
            hold(BUCKET, TABLE, "run-2", "scans uploads"),
        ):
            pytest.fail("two runs hold it")
        assert owner(dynamodb) == "run-1"
    with hold(BUCKET, TABLE, "run-2", "scans uploads"):
        assert owner(dynamodb) == "run-2"


def test_a_failed_run_releases_its_lease(dynamodb: Any) -> None:
    with pytest.raises(ZeroDivisionError), hold(BUCKET, TABLE, "run-1", "scans uploads"):
        _ = 1 // 0
    assert owner(dynamodb) == ""


@pytest.mark.usefixtures("dynamodb")
def test_renewal_continues_after_errors_of_the_table(
    renewed: dict[bool, Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    failures, renew = [1, 2, 3], Lease.renew

    def fail(lease: Lease, until: int) -> bool:
        if failures:
            failures.pop()
            raise EndpointConnectionError(endpoint_url="https://dynamodb")
        return renew(lease, until)

    monkeypatch.setattr(Lease, "renew", fail)
    with hold(BUCKET, TABLE, "run-1", "scans uploads"):
        assert renewed[True].wait(SECONDS)
    assert not failures


def test_a_run_does_not_release_a_lease_that_it_lost(
    dynamodb: Any, renewed: dict[bool, Event]
) -> None:
    with hold(BUCKET, TABLE, "run-1", "scans uploads"):
        taken = {"holder": {"S": "another"}, "run": {"S": "run-2"}, "leased_until": {"N": "1"}}
        dynamodb.put_item(TableName=TABLE, Item={**KEY, **taken})
        assert renewed[False].wait(SECONDS)
    assert dynamodb.get_item(TableName=TABLE, Key=KEY)["Item"] == {**KEY, **taken}


@pytest.mark.usefixtures("aws")
def test_a_missing_table_is_named_in_the_error() -> None:
    with (
        pytest.raises(BucketcastError, match=r"--table: no-table: .*ResourceNotFound"),
        hold(BUCKET, "no-table", "run-1", "scans uploads"),
    ):
        pytest.fail("it cannot be held")
