"""Match findings with the rules of the bucket; a finding that no rule matches is not alerted."""

import json
from collections.abc import Sequence
from datetime import datetime

import msgspec
from pyspark.sql import Column, Row
from pyspark.sql import functions as sql

from bucketcast.rules import Rule, RuleIndex
from bucketcast.sources import minio
from glue_jobs.scanner.alerts import record


def is_matched(bucket: str, rules: Sequence[Rule], at: datetime) -> Column:
    """Return a column that is True where a rule matches the event that a finding would send.

    The rows need the columns of `ALERT_STATES` up to `bytes`. Conditions on object facts count as
    met, as they do if S3 does not return the facts.
    """
    if not rules:
        return sql.lit(False)  # noqa: FBT003 - a column's value
    matcher = _Matcher(bucket, rules, at)
    match = sql.udf(lambda finding: matcher.matches(finding), "boolean")  # noqa: PLW0108 - Spark reads the hints of a method
    return match(sql.struct("kind", "key", "count", "versions", "bytes"))


class _Matcher:
    """Matches findings with rules; each worker builds the index once, as it cannot be pickled."""

    def __init__(self, bucket: str, rules: Sequence[Rule], at: datetime) -> None:
        self._bucket = bucket
        self._rules = tuple(rules)
        self._at = at
        self._index: RuleIndex | None = None

    def matches(self, finding: Row) -> bool:
        if finding["count"] is None:  # recorded earlier, not found now
            return False
        if self._index is None:
            self._index = RuleIndex(self._rules)
        raw = msgspec.Raw(json.dumps(record(self._bucket, finding, self._at)).encode())
        return bool(self._index.match(minio.parse(raw)))
