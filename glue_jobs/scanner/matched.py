"""Which findings a rule of the bucket takes: what nobody would hear is not to be told."""

import json
from collections.abc import Sequence
from datetime import datetime

import msgspec
from pyspark.sql import Column, Row
from pyspark.sql import functions as sql

from bucketcast.rules import Rule, RuleIndex
from bucketcast.sources import minio
from glue_jobs.scanner.alerts import record


def taken(bucket: str, rules: Sequence[Rule], at: datetime) -> Column:
    """Whether a rule takes the event of a row with `edges.EDGES`'s first columns.

    It is the very event that would be sent. What only S3 could say of the object counts as met, as
    it does where S3 cannot say it.
    """
    if not rules:
        return sql.lit(False)  # noqa: FBT003 - a column's value
    judge = _Judge(bucket, rules, at)
    asked = sql.udf(lambda finding: judge.takes(finding), "boolean")  # noqa: PLW0108 - Spark reads hints of others
    return asked(sql.struct("kind", "key", "count", "versions", "bytes"))


class _Judge:
    """Asks the rules; a worker makes their index once, since it cannot travel."""

    def __init__(self, bucket: str, rules: Sequence[Rule], at: datetime) -> None:
        self._bucket = bucket
        self._rules = tuple(rules)
        self._at = at
        self._index: RuleIndex | None = None

    def takes(self, finding: Row) -> bool:
        if finding["count"] is None:  # only remembered, and not there
            return False
        if self._index is None:
            self._index = RuleIndex(self._rules)
        raw = msgspec.Raw(json.dumps(record(self._bucket, finding, self._at)).encode())
        return bool(self._index.match(minio.parse(raw)))
