"""Changes of a partition that raise its number."""

from typing import Any

from bucketcast.state.table import VERSION, Partition


def test_a_change_is_refused_where_another_was_first(state_table: str, dynamodb: Any) -> None:
    partition = Partition(state_table, "#some", dynamodb)
    part = partition.put_part("a", {})
    assert partition.commit(part, since=0)
    assert not partition.commit(part, since=0)
    absent = {"ConditionExpression": "attribute_exists(absent)"}
    assert not partition.commit(partition.put_part("a", {}, **absent))
    assert partition.commit(part, since=1)
    assert partition.get(VERSION)["version"] == {"N": "2"}
