"""The breakers in DynamoDB: all functions share what one saw of a target."""

import time
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import boto3
import pytest
from botocore.exceptions import ConnectionClosedError, ConnectTimeoutError

from bucketcast.aws import function_clients
from bucketcast.delivery.breaker import BreakerStore, LocalStore, Outage
from bucketcast.state.breakers import KEPT_DAYS, PARTITION, REASON_LENGTH, Breakers
from bucketcast.state.optional_items import OptionalItems
from bucketcast.state.table import EXPIRES
from tests.unit.conftest import Watch
from tests.unit.delivery.bench import NOW, WELL
from tests.unit.moto_aws import refusal

HOOK, TABLE = "arn:minio:sqs::primary:webhook", "arn:minio:sqs::_:postgresql"
SEEN = Outage(1_000, 3_000, error="NotConnected", reason="no answer")
PAUSE = Outage(0, 0, tries=0, paused=5_000)


@pytest.fixture
def breakers(state_table: str) -> Breakers:
    return Breakers(state_table, lambda: boto3.client("dynamodb"))


# What the store of one function and the table have in common


@pytest.fixture(params=["a function", "the table"])
def stores(request: pytest.FixtureRequest) -> tuple[BreakerStore, BreakerStore]:
    """What two functions use of one target."""
    if request.param == "a function":
        return (LocalStore(),) * 2
    breakers: Breakers = request.getfixturevalue("breakers")
    return breakers.of(HOOK), breakers.of(HOOK)


@pytest.fixture(params=["a function", "the table"])
def paused(request: pytest.FixtureRequest) -> BreakerStore:
    """What a function uses of a target that is paused."""
    if request.param == "a function":
        store = LocalStore()
        store.outage = PAUSE
        return store
    breakers: Breakers = request.getfixturevalue("breakers")
    breakers.pause(HOOK, PAUSE.paused)
    return breakers.of(HOOK)


def test_outage_is_shared_by_all_functions(stores: tuple[BreakerStore, BreakerStore]) -> None:
    one, other = stores
    assert one.record(SEEN, probed=False) == SEEN
    assert other.read() == SEEN
    later = other.record(SEEN._replace(since=2_000, next=9_000, reason="again"), probed=False)
    assert later == Outage(1_000, 9_000, 0, 2, "NotConnected", "again"), "it began with the first"
    assert one.read() == later


def test_one_function_alone_probes(stores: tuple[BreakerStore, BreakerStore]) -> None:
    one, other = stores
    assert not one.start_probe(3_000, 20_000), "there is no outage"
    one.record(SEEN, probed=False)
    assert not one.start_probe(2_999, 20_000)
    assert one.start_probe(3_000, 20_000)
    assert not other.start_probe(3_000, 20_000)
    assert not other.start_probe(19_999, 40_000)
    assert other.start_probe(20_000, 40_000), "who probed was killed"


def test_only_the_probe_ends_a_probe(stores: tuple[BreakerStore, BreakerStore]) -> None:
    one, other = stores
    one.record(SEEN, probed=False)
    one.start_probe(3_000, 20_000)
    assert other.record(SEEN, probed=False).probing == 20_000
    assert one.record(SEEN, probed=True).probing == 0


def test_an_outage_ends_with_an_answer(stores: tuple[BreakerStore, BreakerStore]) -> None:
    one, other = stores
    one.record(SEEN, probed=False)
    other.clear(None, 0)
    assert one.read() is None
    assert not one.start_probe(9_000, 20_000)
    assert one.read() is None, "to ask for a probe makes no item"


def test_refusals_are_counted_by_all_functions(stores: tuple[BreakerStore, BreakerStore]) -> None:
    one, other = stores
    assert (one.count_refusals(2, "old", 0), other.count_refusals(3, "old", 0)) == (2, 5)
    assert one.record(SEEN._replace(settings="old"), probed=False).refusals == 5
    one.clear(None, 0)
    assert other.read() == Outage(0, 0, tries=0, refusals=5, counted="old"), "no outage"
    one.record(SEEN._replace(settings="new"), probed=False)
    assert other.count_refusals(1, "new", 0) == 1, "the settings were changed"
    assert one.count_refusals(1, "new", 0) == 2


def test_refusals_count_since_the_target_took_an_event_with_these_settings(
    stores: tuple[BreakerStore, BreakerStore],
) -> None:
    one, other = stores
    well = WELL._replace(counted="old", took="old")
    one.count_refusals(2, "old", 0)
    other.clear("old", 0)
    assert one.read() == well
    assert (one.count_refusals(9, "old", 0), other.count_refusals(9, "old", 0)) == (9, 18)
    one.clear(None, 0)
    assert other.read() == well._replace(refusals=18), "only what it takes ends them"
    assert (one.count_refusals(1, "new", 0), other.count_refusals(1, "new", 0)) == (1, 2)


def test_a_pause_outlives_an_outage_and_what_was_refused(paused: BreakerStore) -> None:
    assert paused.read() == PAUSE
    assert not paused.start_probe(9_000, 20_000)
    assert paused.record(SEEN, probed=False) == SEEN._replace(paused=PAUSE.paused)
    paused.count_refusals(1, "", 0)
    paused.clear("", 0)
    assert paused.read() == PAUSE._replace(counted="", took="")


# The table


def test_a_probe_that_was_taken_without_an_answer_is_ours(
    state_table: str, dynamodb: Any, repeat: Callable[[str], None]
) -> None:
    """The client repeats the call; nobody would probe until the lease is over."""
    one = Breakers(state_table, lambda: dynamodb).of(HOOK)
    one.record(SEEN, probed=False)
    repeat("update_item")
    assert one.start_probe(3_000, 20_000)
    assert not one.start_probe(3_000, 20_000)


def test_a_long_reason_is_cut(breakers: Breakers) -> None:
    one = breakers.of(HOOK)
    assert len(one.record(SEEN._replace(reason="x" * 5_000), probed=False).reason) == REASON_LENGTH


def test_the_item_of_a_target_that_is_tried_no_more_expires(
    breakers: Breakers, state_table: str
) -> None:
    """It stayed for ever where the target was removed while it did not answer."""
    breakers.of(HOOK).record(SEEN, probed=False)
    later = SEEN._replace(next=5_000_000)
    breakers.of(HOOK).record(later, probed=True)
    key = {"partition": {"S": PARTITION}, "key": {"S": HOOK}}
    item = boto3.client("dynamodb").get_item(TableName=state_table, Key=key)["Item"]
    assert int(item[EXPIRES]["N"]) == 5_000 + KEPT_DAYS * 86_400, "seconds, as DynamoDB counts"
    breakers.pause(HOOK, NOW)
    breakers.of(HOOK).record(later, probed=True)
    item = boto3.client("dynamodb").get_item(TableName=state_table, Key=key)["Item"]
    assert int(item[EXPIRES]["N"]) > NOW / 100, "a pause stays for a thousand years"
    assert item["tries"]["N"] == "3"
    breakers.resume(HOOK)
    item = boto3.client("dynamodb").get_item(TableName=state_table, Key=key)["Item"]
    assert int(item[EXPIRES]["N"]) < time.time() + (KEPT_DAYS + 1) * 86_400, "nor does its end"


def slow(dynamodb: Any, clock: list[float], seconds: float, error: Exception | None = None) -> Mock:
    """A table that takes so many seconds for its answer, or for this error."""

    def get_item(**given: Any) -> Any:
        clock[0] += seconds
        if error:
            raise error
        return dynamodb.get_item(**given)

    return Mock(**{"get_item.side_effect": get_item})


def test_without_the_table_a_function_uses_its_own_state(dynamodb: Any, clock: list[float]) -> None:
    silent = slow(dynamodb, clock, 3, ConnectTimeoutError(endpoint_url="https://dynamodb"))
    one = Breakers("state", lambda: silent).of(HOOK)
    assert one.read() is None
    assert one.record(SEEN, probed=False) == SEEN
    assert one.read() == SEEN
    assert one.start_probe(3_000, 20_000)
    assert not one.start_probe(3_000, 20_000)
    one.clear("", 0)
    assert one.read() == WELL
    assert [name for name, *_ in silent.mock_calls] == ["get_item"], "it is left alone for a while"
    clock[0] += 61
    one.read()
    assert [name for name, *_ in silent.mock_calls] == ["get_item", "get_item"]


@pytest.mark.parametrize("error", [None, refusal("ThrottlingException", "GetItem")])
@pytest.mark.parametrize("seconds", [1.5, 4.0])
def test_a_slow_or_throttled_table_takes_a_small_part_of_the_time(
    state_table: str, dynamodb: Any, clock: list[float], error: Exception | None, seconds: float
) -> None:
    """Each batch waited for it."""
    table = slow(dynamodb, clock, seconds, error)
    one = Breakers(state_table, lambda: table).of(HOOK)
    began = clock[0]
    while clock[0] < began + 600:
        one.read()
        clock[0] += 0.1
    assert 0 < table.get_item.call_count * seconds <= seconds + 600 / 20


def test_a_client_that_is_slow_to_create_tells_nothing_of_the_table(
    state_table: str, dynamodb: Any, clock: list[float]
) -> None:
    Breakers(state_table, lambda: dynamodb).of(HOOK).record(SEEN, probed=False)

    def create() -> Any:
        clock[0] += 5
        return dynamodb

    breakers = Breakers(state_table, create)
    assert (breakers.of(TABLE).read(), breakers.of(TABLE).read()) == (None, None)
    one, other = breakers.of(HOOK), breakers.of(HOOK)
    one.read()
    other.clear(None, 0)
    assert one.read() is None


def test_an_outage_outlives_a_pause(breakers: Breakers) -> None:
    one = breakers.of(HOOK)
    assert (breakers.pause(HOOK, 5_000), breakers.pause(HOOK, 6_000)) == (5_000, 5_000)
    one.record(SEEN, probed=False)
    assert (breakers.resume(HOOK), breakers.resume(HOOK)) == (5_000, 0)
    assert one.read() == SEEN
    one.clear("", 0)
    assert breakers.read() == {}


def test_a_table_that_does_not_answer_resumes_nothing(
    breakers: Breakers, monkeypatch: pytest.MonkeyPatch
) -> None:
    breakers.pause(HOOK, 5_000)
    one = breakers.of(HOOK)
    one.read()
    monkeypatch.setattr(OptionalItems, "call", lambda *_, **__: None)
    assert one.read() == PAUSE
    paused = SEEN._replace(paused=5_000)
    assert one.record(SEEN, probed=False) == paused
    assert one.read() == paused


def test_a_table_that_does_not_answer_ends_no_outage(
    breakers: Breakers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To a function that had seen no failure itself the target was well again."""
    breakers.of(HOOK).record(SEEN, probed=False)
    other = breakers.of(HOOK)
    other.read()
    monkeypatch.setattr(OptionalItems, "call", lambda *_, **__: None)
    assert other.read() == SEEN
    assert not other.start_probe(2_999, 20_000)
    assert other.start_probe(3_000, 20_000)
    later = other.record(SEEN._replace(since=4_000, next=9_000), probed=True)
    assert later == SEEN._replace(next=9_000, tries=2), "it began with the first"
    other.clear("", 0)
    assert other.read() == WELL


def test_a_table_that_is_left_alone_is_asked_once_about_each_target(
    state_table: str, dynamodb: Any, clock: list[float]
) -> None:
    """After a slow call about one target all that were not served yet were taken for well."""
    Breakers(state_table, lambda: dynamodb).of(HOOK).record(SEEN, probed=False)
    table = slow(dynamodb, clock, 1.5)
    breakers = Breakers(state_table, lambda: table)
    breakers.of(TABLE).read()
    one = breakers.of(HOOK)
    assert (one.read(), one.read()) == (SEEN, SEEN)
    asked = [call.kwargs["Key"]["key"]["S"] for call in table.get_item.call_args_list]
    assert asked == [TABLE, HOOK]


def test_an_outage_that_is_over_is_forgotten(
    breakers: Breakers, monkeypatch: pytest.MonkeyPatch
) -> None:
    breakers.of(HOOK).record(SEEN, probed=False)
    other = breakers.of(HOOK)
    other.read()
    breakers.of(HOOK).clear(None, 0)
    other.read()
    monkeypatch.setattr(OptionalItems, "call", lambda *_, **__: None)
    assert other.read() is None


def test_a_connection_that_was_forgotten_hides_no_pause(
    breakers: Breakers, state_table: str
) -> None:
    """A function that was frozen does not hear of it, and sent to a paused target for a minute."""
    breakers.pause(HOOK, 5_000)
    table = function_clients.client("dynamodb", function_clients.OPTIONAL_CALL)
    lost = Mock(side_effect=[ConnectionClosedError(endpoint_url="https://dynamodb"), None])
    table.meta.events.register("before-send", lambda **_: lost())
    assert Breakers(state_table, lambda: table).of(HOOK).read() == PAUSE
    assert lost.call_count == 2


def test_an_error_that_was_no_time_out_blinds_one_batch(
    breakers: Breakers, dynamodb: Any, watch: Watch, state_table: str, clock: list[float]
) -> None:
    breakers.pause(HOOK, 5_000)
    watch(dynamodb, "get_item", ConnectionClosedError(endpoint_url="https://dynamodb"))
    one = Breakers(state_table, lambda: dynamodb).of(HOOK)
    assert one.read() is None
    clock[0] += 1
    assert one.read() == PAUSE
