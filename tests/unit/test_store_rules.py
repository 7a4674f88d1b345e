"""Rules in DynamoDB: in force when the command that made them returns."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from bucketcast.rules import Rule
from bucketcast.store.rules import Rulebook, RuleExistsError, Rules
from tests.unit.made import matched

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PUT = "s3:ObjectCreated:Put"
HOOK = "arn:minio:sqs::primary:webhook"


def rule(prefix: str = "", bucket: str = "uploads", events: Sequence[str] = (PUT,)) -> Rule:
    return Rule(bucket=bucket, arn=HOOK, events=tuple(events), prefix=prefix)


@pytest.fixture
def rules(dynamodb: "DynamoDBClient", rules_table: str) -> Rules:
    return Rules(rules_table, dynamodb)


def test_rule_is_there_as_it_was_given(rules: Rules) -> None:
    made = Rule(
        bucket="uploads",
        arn=HOOK,
        events=("s3:ObjectRemoved:*", "s3:ObjectCreated:*"),
        prefix="é *",
        suffix="?😀",
    )
    rules.add(made)
    assert rules.of("uploads") == [made]
    assert rules.of("photos") == []


def test_same_rule_again_is_refused_and_changes_nothing(rules: Rules) -> None:
    rules.add(rule("a", events=["s3:ObjectCreated:*", "s3:ObjectRemoved:*"]))
    before = rules.versions(["uploads"])
    with pytest.raises(RuleExistsError, match="uploads has this rule already: arn:minio:sqs::pr"):
        rules.add(rule("a", events=["s3:ObjectRemoved:*", "s3:ObjectCreated:*"]))
    assert len(rules.of("uploads")) == 1
    assert rules.versions(["uploads"]) == before


def test_overlapping_rules_are_accepted(rules: Rules) -> None:
    for prefix in ("", "a", "ab"):
        rules.add(rule(prefix))
    assert {each.prefix for each in rules.of("uploads")} == {"", "a", "ab"}


def test_removed_rule_is_gone_and_may_come_again(rules: Rules) -> None:
    rules.add(rule("a"))
    rules.add(rule("b"))
    rules.remove([rule("a")])
    assert rules.of("uploads") == [rule("b")]
    rules.remove([rule("a")])
    rules.add(rule("a"))
    assert {each.prefix for each in rules.of("uploads")} == {"a", "b"}


def test_removing_nothing_is_no_change(rules: Rules) -> None:
    rules.remove([])
    assert rules.versions(["uploads"]) == {}


def test_every_change_is_seen_in_the_number_of_its_bucket(rules: Rules) -> None:
    assert rules.versions(["uploads", "photos"]) == {}
    rules.add(rule("a"))
    rules.add(rule("b"))
    rules.add(rule("a", "photos"))
    assert rules.versions(["uploads", "photos", "nobody"]) == {"uploads": 2, "photos": 1}
    rules.remove([rule("a"), rule("b")])
    assert rules.versions(["uploads", "photos"]) == {"uploads": 3, "photos": 1}


def test_more_rules_than_one_transaction_holds_are_removed(rules: Rules) -> None:
    made = [rule(f"{number:03}") for number in range(120)]
    for each in (made[0], made[60], made[119]):
        rules.add(each)
    rules.remove(made)
    assert rules.of("uploads") == []


def test_rules_of_a_bucket_are_ordered_by_id(rules: Rules) -> None:
    made = [rule(f"{number:03}") for number in range(10)]
    for each in made:
        rules.add(each)
    assert rules.of("uploads") == sorted(made, key=lambda each: each.id)


def test_more_buckets_than_one_read_holds_are_asked(rules: Rules) -> None:
    for number in (0, 99, 100, 249):
        rules.add(rule(bucket=f"b{number:03}"))
    buckets = [f"b{number:03}" for number in range(250)]
    assert rules.versions(buckets) == {f"b{number:03}": 1 for number in (0, 99, 100, 249)}


class Read(Rules):
    """Rules that remember which buckets were read in full."""

    def __init__(self, table: str, client: "DynamoDBClient") -> None:
        super().__init__(table, client)
        self.read: list[str] = []
        self.asked: list[frozenset[str]] = []

    def of(self, bucket: str) -> list[Rule]:
        self.read.append(bucket)
        return super().of(bucket)

    def versions(self, buckets: Iterable[str]) -> dict[str, int]:
        self.asked.append(frozenset(buckets))
        return super().versions(buckets)


@pytest.fixture
def read(dynamodb: "DynamoDBClient", rules_table: str) -> Read:
    return Read(rules_table, dynamodb)


UPLOADS = frozenset({"uploads"})


def test_rulebook_sees_a_rule_at_once_and_reads_only_what_changed(read: Read) -> None:
    rulebook = Rulebook(read)
    assert rulebook(UPLOADS) == {}
    read.add(rule("a"))
    assert matched(rulebook(UPLOADS)["uploads"], PUT, "a").keys() == {HOOK}
    index = rulebook(UPLOADS)["uploads"]
    assert rulebook(UPLOADS)["uploads"] is index
    assert read.read == ["uploads"]
    read.add(rule("b"))
    read.add(rule(bucket="photos"))
    both = rulebook(frozenset({"uploads", "photos"}))
    assert matched(both["uploads"], PUT, "b").keys() == {HOOK}
    assert matched(both["photos"], PUT, "x").keys() == {HOOK}
    read.remove([rule("a"), rule("b")])
    assert matched(rulebook(UPLOADS)["uploads"], PUT, "a") == {}
    assert Counter(read.read) == {"uploads": 3, "photos": 1}


def test_rulebook_asks_nothing_about_no_bucket(read: Read) -> None:
    assert Rulebook(read)(frozenset()) == {}
    assert read.asked == []


def test_changes_of_another_are_seen_too(
    read: Read, dynamodb: "DynamoDBClient", rules_table: str
) -> None:
    rulebook = Rulebook(read)
    rulebook(UPLOADS)
    Rules(rules_table, dynamodb).add(rule("a"))
    assert matched(rulebook(UPLOADS)["uploads"], PUT, "a").keys() == {HOOK}


class Contended:
    """A table whose transactions meet another one first, some times."""

    def __init__(self, client: Any, conflicts: int) -> None:
        self._client = client
        self.exceptions = client.exceptions
        self.conflicts = conflicts

    def transact_write_items(self, **given: Any) -> Any:
        if not self.conflicts:
            return self._client.transact_write_items(**given)
        self.conflicts -= 1
        reasons = [{"Code": "None"}, {"Code": "TransactionConflict"}]
        raise self.exceptions.TransactionCanceledException(
            {"Error": {"Code": "TransactionCanceledException"}, "CancellationReasons": reasons},
            "TransactWriteItems",
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


def test_change_that_meets_another_comes_after_it(
    dynamodb: "DynamoDBClient", rules_table: str
) -> None:
    contended: Any = Contended(dynamodb, conflicts=3)
    Rules(rules_table, contended).add(rule("in/"))
    assert [each.prefix for each in Rules(rules_table, dynamodb).of("uploads")] == ["in/"]


def test_change_that_meets_others_for_ever_is_an_error(
    dynamodb: "DynamoDBClient", rules_table: str
) -> None:
    contended: Any = Contended(dynamodb, conflicts=1_000)
    with pytest.raises(dynamodb.exceptions.TransactionCanceledException):
        Rules(rules_table, contended).add(rule("in/"))
