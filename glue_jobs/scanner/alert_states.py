"""Decide which findings need an alert, by comparing them with earlier alerts.

An alert is *open* from when it is sent until its finding is gone. A finding is alerted when no
alert is open for it (`new`), and again when it has grown by some per cent since the last alert
(`worse`); neither within the cooldown, which also silences a finding that comes and goes. If no
rule of the bucket matches, no alert is sent, and none is recorded (`unmatched`). All else is
`same`. A finding that is gone closes its alert (`cleared`); there is no event for that, but the
report shows it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from glue_jobs.columns import schema

_GROUP: Final = ["kind", "key"]
ALERTED: Final = ("new", "worse")
"""The states that send an event."""
UNMATCHED: Final = "unmatched"
"""The state of a finding that would be alerted, but no rule matches."""


class AlertState(NamedTuple):
    """A finding, or the record of an earlier one.

    `count` is what its threshold limits: versions, bytes or sub-folders; None if it was not found
    now. `since` is the time of the source that showed it first; a finding that comes back starts
    anew. `alerted` is the count of the last alert, and `alerted_at` its time. `state` is None for a
    row that is only kept for the next scan.
    """

    kind: str | None
    key: str | None
    count: int | None  # type: ignore[assignment]  # a tuple has a method of that name
    versions: int | None
    bytes: int | None
    state: str | None
    since: datetime | None
    alerted: int | None
    alerted_at: datetime | None
    open: bool | None


ALERT_STATES: Final = schema(AlertState)


@dataclass(frozen=True, slots=True)
class AlertPolicy:
    """The conditions of a repeated alert: `worse` in per cent, `cooldown` in seconds."""

    worse: int
    cooldown: float


def compare(  # noqa: PLR0913 - the scans, their times, and the rules of comparing them
    today: DataFrame,
    before: DataFrame,
    *,
    at: datetime,
    taken: datetime,
    policy: AlertPolicy,
    covered: Column,
    matched: Column,
) -> DataFrame:
    """Return today's findings and the records to keep, as rows of `ALERT_STATES`.

    `before` is the last comparison's result; `at` is now, and `taken` the source's time. `covered`
    is true for a kind and key that this scan counts; other records stay as they are. `matched` is
    true if a rule matches a finding's event.
    """
    began = sql.when(~sql.col("state").eqNullSafe("cleared"), sql.col("since")).alias("since")
    earlier = before.select(*_GROUP, began, "alerted", "alerted_at", "open")
    both = today.join(earlier, _GROUP, "full_outer")
    present = sql.col("count").isNotNull()
    cooled = sql.col("alerted_at").isNull() | (
        sql.col("alerted_at") <= sql.lit(at - timedelta(seconds=policy.cooldown))
    )
    is_open = sql.coalesce(sql.col("open"), sql.lit(False))  # noqa: FBT003 - a column's value
    due = present & cooled & (~is_open | _is_worse(policy.worse))
    state = (
        sql.when(due & ~matched, UNMATCHED)
        .when(due & ~is_open, "new")
        .when(due, "worse")
        .when(present, "same")
        .when(is_open & covered, "cleared")
    )
    since = sql.when(present, sql.coalesce("since", sql.lit(taken))).when(
        is_open | ~covered, sql.col("since")
    )
    states = both.withColumns({"state": state, "since": since})
    expired = (
        sql.col("state").isNull()
        & sql.col("since").isNull()
        & ((cooled & covered) | sql.col("alerted_at").isNull())
    )
    alerts = sql.coalesce(sql.col("state").isin(*ALERTED), sql.lit(False))  # noqa: FBT003
    closes = sql.col("state").eqNullSafe("cleared")
    return states.where(~expired).select(
        *_GROUP,
        "count",
        "versions",
        "bytes",
        "state",
        "since",
        sql.when(alerts, sql.col("count")).otherwise(sql.col("alerted")).alias("alerted"),
        sql.when(alerts, sql.lit(at)).otherwise(sql.col("alerted_at")).alias("alerted_at"),
        ((is_open | alerts) & ~closes).alias("open"),
    )


def _is_worse(per_cent: int) -> Column:
    """Return True if the count has grown by so much; as doubles, which do not overflow."""
    count, alerted = sql.col("count").cast("double"), sql.col("alerted").cast("double")
    return (count > alerted) & (count - alerted >= alerted * (per_cent / 100))
