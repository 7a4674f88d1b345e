"""Who owns a bucket, whatever happens while it is created or removed."""

import asyncio
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from bucketcast.gateway.judge import Judge
from bucketcast.gateway.ownership import BUSY_SECONDS, Ownership
from bucketcast.users import User
from bucketcast.users.owners import Owner, Owners
from bucketcast.web.authentication import AuthenticatedRequest
from bucketcast.web.errors import S3Error
from bucketcast.web.request import RawRequest
from bucketcast.web.request_body import ClientDisconnected, Receive
from bucketcast.web.responses import Send
from tests.unit.web.requests import ANNA, HOST, Wire, authenticator, scope_of, signed

BOB = User("b2", "bob", "", ("BOB",))
ADMIN = User("r3", "root", "", ("ROOT",), admin=True)


class Deployment:
    """S3's buckets, and their owners; `status` is S3's answer, `during` runs while S3 works."""

    def __init__(self, table: str, dynamodb: Any) -> None:
        self.now = 1_800_000_000.0
        self.owners = Owners(table, dynamodb)
        self.buckets: set[str] = set()
        self.status = 0
        self.during: Callable[[], object] = int
        self.sent = self.stored = b""
        self.receive: Callable[[], Receive] = lambda: Wire(self.sent)
        self.rules: set[str] = set()

    def look_up(self, bucket: str) -> None:
        if bucket not in self.buckets:
            raise S3Error("NoSuchBucket")

    async def s3(self, admitted: AuthenticatedRequest, send: Send) -> None:
        self.stored = await admitted.body.read(1_000)
        await asyncio.to_thread(self.during)
        bucket, creates = admitted.call.bucket, admitted.call.method == "PUT"
        status = self.status or (200 if creates else 204)
        if status < 300:
            (self.buckets.add if creates else self.buckets.discard)(bucket)
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    def call(self, method: str, user: User, target: str = "/photos") -> int:
        """Answer a call of this user; return the status."""
        sent: list[MutableMapping[str, Any]] = []

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)

        async def run() -> None:
            scope = scope_of(signed(method, target, self.sent))
            admitted = await authenticator().authenticate(scope, self.receive())
            ownership = Ownership(self.s3, self.owners, self.look_up, self.rules.discard)
            await ownership(replace(admitted.confirmed(), user=user), send)

        asyncio.run(run())
        return int(sent[0]["status"])

    def kill(self, method: str, user: User) -> None:
        """Make a call of a gateway that is killed while S3 works; let so many minutes pass."""

        def die() -> None:
            raise KeyboardInterrupt

        during, self.during = self.during, die
        with suppress(KeyboardInterrupt):
            self.call(method, user)
        self.during = during
        with pytest.raises(S3Error, match="OperationAborted"):
            self.call("PUT", BOB)
        self.now += BUSY_SECONDS

    @property
    def owner(self) -> str:
        owner = self.owners.all().get("photos")
        return owner.user if owner else ""


@pytest.fixture
def deployment(dynamodb: Any, state_table: str, monkeypatch: pytest.MonkeyPatch) -> Deployment:
    made = Deployment(state_table, dynamodb)
    monkeypatch.setattr("bucketcast.gateway.ownership.time.time", lambda: made.now)
    return made


def test_who_creates_a_bucket_owns_it_until_it_is_removed(deployment: Deployment) -> None:
    assert deployment.call("PUT", ANNA) == 200
    assert deployment.owner == ANNA.id
    assert deployment.call("PUT", ANNA) == 200, "once more, as after a lost answer"
    assert deployment.owner == ANNA.id
    deployment.call("DELETE", ANNA)
    assert deployment.owner == ""
    deployment.call("PUT", BOB)
    assert deployment.owner == BOB.id


def test_an_administrator_removes_any_bucket(deployment: Deployment) -> None:
    deployment.call("PUT", ANNA)
    deployment.call("DELETE", ADMIN)
    assert deployment.owner == ""


@pytest.mark.parametrize("owned", [True, False])
def test_a_name_that_is_taken_is_refused_and_stays_whose_it_is(
    deployment: Deployment,
    owned: bool,  # noqa: FBT001
) -> None:
    """S3 would answer 200 in us-east-1: all buckets are the gateway's account's."""
    deployment.buckets.add("photos")
    if owned:
        deployment.owners.replace("photos", None, Owner(ANNA.id))
    before = deployment.owner
    with pytest.raises(S3Error, match="BucketAlreadyExists"):
        deployment.call("PUT", BOB)
    assert deployment.call("PUT", ADMIN) == 200
    assert deployment.owner == before


@pytest.mark.parametrize("status", [409, 400, 503])
def test_a_bucket_that_s3_does_not_create_is_nobodys(deployment: Deployment, status: int) -> None:
    deployment.status = status
    assert deployment.call("PUT", ANNA) == status
    assert deployment.owner == ""


@pytest.mark.parametrize("created", [True, False])
def test_a_bucket_is_owned_if_s3_created_it_and_did_not_answer(
    deployment: Deployment,
    created: bool,  # noqa: FBT001
) -> None:
    def fail() -> None:
        if created:
            deployment.buckets.add("photos")
        raise ClientDisconnected

    deployment.during = fail
    with pytest.raises(ClientDisconnected):
        deployment.call("PUT", ANNA)
    assert deployment.owner == ANNA.id * created


def test_a_bucket_that_s3_creates_and_answers_with_a_fault_is_owned(deployment: Deployment) -> None:
    deployment.status = 500
    deployment.during = lambda: deployment.buckets.add("photos")
    deployment.call("PUT", ANNA)
    assert deployment.owner == ANNA.id


def test_a_bucket_that_another_client_created_meanwhile_is_not_the_users(
    deployment: Deployment,
) -> None:
    deployment.status = 409
    deployment.during = lambda: deployment.buckets.add("photos")
    assert deployment.call("PUT", ANNA) == 409
    assert deployment.owner == ""


def test_a_bucket_that_s3_does_not_remove_stays_whose_it_is(deployment: Deployment) -> None:
    deployment.call("PUT", ANNA)
    deployment.status = 409
    deployment.call("DELETE", ANNA)
    assert deployment.owner == ANNA.id


def test_of_two_users_at_once_one_gets_the_bucket(deployment: Deployment) -> None:
    def second() -> None:
        deployment.during = int
        with pytest.raises(S3Error, match="OperationAborted"):
            deployment.call("PUT", BOB)

    deployment.during = second
    assert deployment.call("PUT", ANNA) == 200
    assert deployment.owner == ANNA.id


@pytest.mark.parametrize("existed", [True, False])
def test_what_a_killed_gateway_or_another_client_left_is_taken_over(
    deployment: Deployment,
    existed: bool,  # noqa: FBT001
) -> None:
    """The claim of a bucket that was never created, or was removed past the gateway."""
    if existed:
        deployment.call("PUT", ANNA)
        deployment.buckets.clear()
    else:
        deployment.kill("PUT", ANNA)
        assert deployment.owner == ""
    assert deployment.call("PUT", BOB) == 200
    assert deployment.owner == BOB.id


@pytest.mark.parametrize("created", [True, False])
def test_a_killed_call_is_repeated_after_some_minutes(
    deployment: Deployment,
    created: bool,  # noqa: FBT001
) -> None:
    """In other regions than us-east-1 S3 answers 409, and the bucket is the user's all the same."""
    deployment.kill("PUT", ANNA)
    assert deployment.owner == ""
    if created:
        deployment.buckets.add("photos")
        deployment.status = 409
        with pytest.raises(S3Error, match="BucketAlreadyExists"):
            deployment.call("PUT", BOB)
    deployment.call("PUT", ANNA)
    assert deployment.owner == ANNA.id


def test_a_claim_that_is_weeks_old_gives_no_later_bucket(
    deployment: Deployment,
) -> None:
    deployment.kill("PUT", ANNA)
    deployment.now += 14 * 86_400
    deployment.buckets.add("photos")
    with pytest.raises(S3Error, match="BucketAlreadyExists"):
        deployment.call("PUT", ANNA)
    assert deployment.owner == ""


def test_a_removal_that_fails_gives_the_bucket_to_nobody(deployment: Deployment) -> None:
    """An administrator's, of a bucket whose name a killed call has claimed."""
    deployment.kill("PUT", ANNA)
    deployment.buckets.add("photos")
    deployment.status = 500
    assert deployment.call("DELETE", ADMIN) == 500
    assert deployment.owner == ""


def test_a_removal_that_was_killed_is_repeated(deployment: Deployment) -> None:
    deployment.call("PUT", ANNA)
    deployment.kill("DELETE", ANNA)
    assert deployment.owner == ANNA.id
    deployment.call("DELETE", ANNA)
    assert deployment.owner == ""


@pytest.mark.parametrize("first", ["PUT", "DELETE"])
def test_calls_at_once_leave_no_owner_of_a_bucket_that_does_not_exist(
    deployment: Deployment, first: str
) -> None:
    """Or a user could own a name, and wait for the operator to use it."""
    deployment.call("PUT", ANNA)
    second = "DELETE" if first == "PUT" else "PUT"

    def call() -> None:
        deployment.during = int
        with pytest.raises(S3Error, match="OperationAborted"):
            deployment.call(second, ANNA)

    deployment.during = call
    deployment.call(first, ANNA)
    assert deployment.owner == ANNA.id * (first == "PUT")


def test_removal_of_a_bucket_that_is_gone_ends_its_ownership(
    deployment: Deployment,
) -> None:
    deployment.call("PUT", ANNA)
    deployment.rules.add("photos")
    deployment.buckets.clear()
    deployment.status = 404
    assert deployment.call("DELETE", ANNA) == 404
    assert (deployment.owner, deployment.rules) == ("", set())


def test_a_buckets_region_reaches_s3(deployment: Deployment) -> None:
    deployment.sent = b"<CreateBucketConfiguration/>"
    deployment.call("PUT", ANNA)
    assert deployment.stored == b"<CreateBucketConfiguration/>"


def test_a_client_that_sends_slowly_holds_no_name(deployment: Deployment) -> None:
    """Or it would own what the operator creates meanwhile, whenever it gives up."""

    async def create_meanwhile() -> MutableMapping[str, Any]:
        deployment.buckets.add("photos")
        return {"type": "http.disconnect"}

    deployment.receive = lambda: create_meanwhile
    with pytest.raises(ClientDisconnected):
        deployment.call("PUT", ANNA)
    assert deployment.owner == ""


def test_who_creates_a_bucket_gets_no_rules_of_an_earlier_one(deployment: Deployment) -> None:
    deployment.rules.add("photos")
    deployment.call("PUT", ANNA)
    assert deployment.rules == {"photos"}, "the operator added them ahead"
    deployment.call("PUT", ANNA)
    assert deployment.rules == {"photos"}, "the bucket exists: S3 answers 200 in us-east-1"
    deployment.buckets.clear()
    deployment.call("PUT", BOB)
    assert deployment.rules == set()


def test_calls_about_a_buckets_settings_change_no_owner(deployment: Deployment) -> None:
    for method, target in (
        ("PUT", "/photos?tagging"),
        ("PUT", "/photos/a"),
        ("DELETE", "/photos/a"),
    ):
        deployment.call(method, ANNA, target)
    assert deployment.owner == ""


class Judged:
    """A judge, with the readings of the table counted."""

    def __init__(self, owners: Owners) -> None:
        self.readings = 0
        self._owners = owners
        self.judge = Judge(self)  # type: ignore[arg-type]

    def all(self) -> Any:
        self.readings += 1
        return self._owners.all()


@pytest.fixture
def judged(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> Judged:
    monkeypatch.setattr("bucketcast.gateway.judge.time.time", lambda: deployment.now)
    monkeypatch.setattr("bucketcast.gateway.shared_reading.time.time", lambda: deployment.now)
    return Judged(deployment.owners)


def get(bucket: str) -> RawRequest:
    return RawRequest.of("GET", f"/{bucket}/a", "", [("host", HOST)])


def test_owners_are_read_once_in_five_seconds(deployment: Deployment, judged: Judged) -> None:
    deployment.call("PUT", ANNA)
    given = replace(BOB, grants={"photos": ("read",)})

    async def run() -> None:
        await judged.judge.require(given, get("photos"))
        assert judged.readings == 0, "rights that were given are the user's own"
        for _ in range(10):
            await judged.judge.require(ANNA, get("photos"))
        assert judged.readings == 1
        deployment.now += 5.5
        await judged.judge.require(ANNA, get("photos"))
        assert judged.readings == 2

    asyncio.run(run())


def test_a_bucket_of_another_gateway_is_the_users_at_once(
    deployment: Deployment, judged: Judged
) -> None:
    async def run() -> None:
        with pytest.raises(S3Error, match="AccessDenied"):
            await judged.judge.require(ANNA, get("photos"))
        deployment.owners.replace("photos", None, Owner(ANNA.id))
        deployment.now += 0.001
        await judged.judge.require(ANNA, get("photos"))
        with pytest.raises(S3Error, match="AccessDenied"):
            await judged.judge.require(BOB, get("photos"))

    asyncio.run(run())


def test_a_bucket_that_was_taken_away_is_lost_within_five_seconds(
    deployment: Deployment, judged: Judged
) -> None:
    deployment.owners.replace("photos", None, Owner(ANNA.id))

    async def run() -> None:
        await judged.judge.require(ANNA, get("photos"))
        deployment.owners.replace("photos", Owner(ANNA.id), None)
        deployment.now += 5.001
        with pytest.raises(S3Error, match="AccessDenied"):
            await judged.judge.require(ANNA, get("photos"))

    asyncio.run(run())


def test_events_are_heard_of_by_owners_and_who_was_given_that(
    deployment: Deployment, judged: Judged
) -> None:
    async def run() -> None:
        assert not await judged.judge.may_hear_of(ANNA, "photos", deployment.now)
        deployment.now += 0.001
        deployment.owners.replace("photos", None, Owner(ANNA.id))
        assert await judged.judge.may_hear_of(ANNA, "photos", deployment.now)
        assert judged.readings == 2, "an event may be of a bucket that was just made"
        assert await judged.judge.may_hear_of(ANNA, "photos", deployment.now)
        assert judged.readings == 2
        readers = replace(BOB, grants={"photos": ("read", "write")})
        assert not await judged.judge.may_hear_of(readers, "photos", deployment.now)
        given = replace(BOB, grants={"photos": ("notify",)})
        assert await judged.judge.may_hear_of(given, "photos", deployment.now)

    asyncio.run(run())


def test_events_of_an_earlier_bucket_of_the_name_are_not_the_new_owners(
    deployment: Deployment, judged: Judged
) -> None:
    """They may wait for minutes in the queue of a listener to all buckets."""
    deployment.call("PUT", ANNA)
    at = deployment.now + 30
    deployment.now += 60
    deployment.call("DELETE", ANNA)
    deployment.call("PUT", BOB)
    made = deployment.now
    deployment.now += 60
    deployment.call("PUT", BOB)

    async def run() -> None:
        assert not await judged.judge.may_hear_of(BOB, "photos", at)
        assert await judged.judge.may_hear_of(BOB, "photos", made)
        assert await judged.judge.may_hear_of(ADMIN, "photos", at)

    asyncio.run(run())
