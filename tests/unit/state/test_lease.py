"""The lease: of two holders one has it, and one that was killed keeps none out."""

from collections.abc import Callable
from typing import Any

import pytest

from bucketcast.state.lease import JOBS, Lease
from bucketcast.state.rules import Rules
from bucketcast.state.table import EXPIRES, Partition

BUCKET = "uploads"
LEASE_MS = 60_000
RENEWAL_MS = 10_000


class Machine:
    """Where holders work: its clock, in Unix ms."""

    def __init__(self, table: str, dynamodb: Any) -> None:
        self.now = 1_000_000
        self._partition = Partition(table, JOBS, dynamodb)

    def lease(self, run: str, bucket: str = BUCKET) -> "Run":
        return Run(self, Lease(self._partition, bucket, run=run))


class Run:
    """What takes a lease for a minute, and renews it."""

    def __init__(self, machine: Machine, lease: Lease) -> None:
        self._machine = machine
        self._lease = lease
        self.release = lease.release

    def take(self) -> bool:
        return self._lease.take(self._machine.now + LEASE_MS, self._machine.now)

    def renew(self) -> bool:
        return self._lease.renew(self._machine.now + LEASE_MS)

    def owner(self) -> str:
        return self._lease.read("run")


@pytest.fixture
def machine(state_table: str, dynamodb: Any) -> Machine:
    return Machine(state_table, dynamodb)


def test_of_two_runs_one_has_the_lease_until_it_releases_it(machine: Machine) -> None:
    one, other = machine.lease("run-1"), machine.lease("run-2")
    assert (one.take(), other.take()) == (True, False)
    assert other.owner() == "run-1"
    assert machine.lease("run-3", "another-bucket").take()
    one.release()
    assert other.owner() == ""
    assert (other.take(), one.take()) == (True, False)


def test_a_run_that_was_started_twice_has_one_lease(machine: Machine) -> None:
    assert machine.lease("run-1").take()
    assert not machine.lease("run-1").take()


def test_a_renewal_puts_the_end_off(machine: Machine) -> None:
    alive, next_ = machine.lease("alive"), machine.lease("next")
    alive.take()
    for _ in range(20):
        machine.now += RENEWAL_MS
        assert alive.renew()
    machine.now += LEASE_MS - 1
    assert not next_.take()


def test_suspended_holder_keeps_a_lease_that_was_not_taken(machine: Machine) -> None:
    suspended, next_ = machine.lease("suspended"), machine.lease("next")
    suspended.take()
    machine.now += 10 * LEASE_MS
    assert suspended.renew()
    assert not next_.take()


@pytest.mark.parametrize("ended", [False, True])
def test_who_was_suspended_does_not_take_the_lease_back(machine: Machine, *, ended: bool) -> None:
    suspended, next_ = machine.lease("suspended"), machine.lease("next")
    suspended.take()
    machine.now += LEASE_MS
    assert next_.take()
    if ended:
        next_.release()
    assert not suspended.renew()
    suspended.release()
    assert next_.owner() == ("" if ended else "next")
    assert next_.renew() is not ended


@pytest.mark.parametrize("operation", ["put_item", "delete_item"])
def test_a_write_whose_answer_was_lost_counts(
    machine: Machine, repeat: Callable[[str], None], operation: str
) -> None:
    """The client repeats it."""
    repeat(operation)
    lease = machine.lease("run-1")
    assert lease.take()
    assert lease.renew()
    assert lease.owner() == "run-1"
    lease.release()
    assert lease.owner() == ""


def test_the_lease_is_no_rule_and_expires_in_the_table(
    machine: Machine, state_table: str, dynamodb: Any
) -> None:
    machine.lease("run-1").take()
    assert Rules(state_table, dynamodb).of(BUCKET) == []
    assert list(Rules(state_table, dynamodb).buckets()) == []
    (item,) = dynamodb.scan(TableName=state_table)["Items"]
    assert item["partition"] == {"S": JOBS}
    assert item[EXPIRES] == {"N": str(1_000 + 60)}, "seconds, as DynamoDB counts"
