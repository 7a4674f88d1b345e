"""A run holds its bucket's lease while it works, whatever becomes of the table meanwhile."""

from threading import Event
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from bucketcast.errors import BucketcastError
from bucketcast.state.lease import SCANS, Lease
from bucketcast.state.rules import Rules
from glue_jobs.scanner.lease import acquired
from tests.glue.emulator import Emulator
from tests.unit.moto_aws import TABLE

pytestmark = pytest.mark.one_spark
BUCKET = "uploads"
KEY = {"partition": {"S": SCANS}, "key": {"S": BUCKET}}
SECONDS = 30


@pytest.fixture
def dynamodb(aws: Emulator, rules: Rules) -> Any:  # noqa: ARG001 - makes the table
    return aws.client("dynamodb")


@pytest.fixture
def renewed(monkeypatch: pytest.MonkeyPatch) -> dict[bool, Event]:
    """Renewals follow each other at once; set are the answers that there were."""
    answers, renew = {True: Event(), False: Event()}, Lease.renew

    def renewing(lease: Lease, until: int) -> bool:
        ours = renew(lease, until)
        answers[ours].set()
        return ours

    monkeypatch.setattr(Lease, "renew", renewing)
    monkeypatch.setattr("glue_jobs.scanner.lease.RENEWAL_SECONDS", 0.01)
    return answers


def owner(dynamodb: Any) -> str:
    """Return the run that has the lease."""
    item = dynamodb.get_item(TableName=TABLE, Key=KEY, ConsistentRead=True).get("Item")
    return str(item["run"]["S"]) if item else ""


def test_a_live_owner_is_named_at_once(dynamodb: Any) -> None:
    with acquired(BUCKET, TABLE, "run-1"):
        with (
            pytest.raises(
                BucketcastError,
                match=r"^uploads: run-1 scans this bucket now; wait until it has ended$",
            ),
            acquired(BUCKET, TABLE, "run-2"),
        ):
            pytest.fail("two hold it")
        assert owner(dynamodb) == "run-1"
    with acquired(BUCKET, TABLE, "run-2"):
        assert owner(dynamodb) == "run-2"


def test_the_lease_of_a_killed_run_is_taken_at_once(dynamodb: Any) -> None:
    left = {"holder": {"S": "a token"}, "run": {"S": "killed"}, "leased_until": {"N": "1"}}
    dynamodb.put_item(TableName=TABLE, Item={**KEY, **left})
    with acquired(BUCKET, TABLE, "run-2"):
        assert owner(dynamodb) == "run-2"


def test_a_run_that_failed_leaves_no_lease(dynamodb: Any) -> None:
    with pytest.raises(ZeroDivisionError), acquired(BUCKET, TABLE, "run-1"):
        _ = 1 // 0
    assert owner(dynamodb) == ""


@pytest.mark.usefixtures("dynamodb")
def test_a_table_that_is_away_for_a_while_ends_no_renewal(
    renewed: dict[bool, Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    away, renew = [1, 2, 3], Lease.renew

    def silent(lease: Lease, until: int) -> bool:
        if away:
            away.pop()
            raise EndpointConnectionError(endpoint_url="https://dynamodb")
        return renew(lease, until)

    monkeypatch.setattr(Lease, "renew", silent)
    with acquired(BUCKET, TABLE, "run-1"):
        assert renewed[True].wait(SECONDS)
    assert not away


def test_who_lost_the_lease_leaves_it_to_its_owner(
    dynamodb: Any, renewed: dict[bool, Event]
) -> None:
    with acquired(BUCKET, TABLE, "run-1"):
        taken = {"holder": {"S": "another"}, "run": {"S": "run-2"}, "leased_until": {"N": "1"}}
        dynamodb.put_item(TableName=TABLE, Item={**KEY, **taken})
        assert renewed[False].wait(SECONDS)
    assert dynamodb.get_item(TableName=TABLE, Key=KEY)["Item"] == {**KEY, **taken}


@pytest.mark.usefixtures("aws")
def test_a_table_that_is_not_there_is_named() -> None:
    with (
        pytest.raises(BucketcastError, match=r"--table: no-table: .*ResourceNotFound"),
        acquired(BUCKET, "no-table", "run-1"),
    ):
        pytest.fail("nobody can hold it")
