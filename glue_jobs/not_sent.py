"""What a run did not send, and why: CSV files below a folder, a row for each object.

A row is the bucket, the key as in a manifest of S3 Batch Operations (percent-encoded), the version
and the reason, so its first three columns are a manifest again.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from glue_jobs import files

_SHOWN_REASONS: Final = 5


class NotSent(NamedTuple):
    """An object, or a version of it, that was not sent."""

    bucket: str
    key: str
    version_id: str | None
    reason: str


def write(url: str, rows: Iterable[NotSent]) -> None:
    """Write a file with these rows, unless there are none.

    Raises:
        FileError: it cannot be written.
    """
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerows((row.bucket, quote(row.key), row.version_id or "", row.reason) for row in rows)
    if text.getvalue():
        files.write(url, text.getvalue().encode(), media_type="text/csv")


def count_reasons(folder: str) -> Counter[str]:
    """Return how many were not sent for each reason.

    Raises:
        FileError: a file cannot be read.
    """
    reasons = Counter[str]()
    for name in files.list_files(folder):
        lines = io.StringIO(files.read(f"{folder}/{name}").decode())
        reasons.update(row[-1] for row in csv.reader(lines))
    return reasons


def summarize(reasons: Counter[str], folder: str) -> dict[str, Any]:
    """Return, for a result, how many were not sent, the commonest reasons, and the folder."""
    return {
        "not_sent": reasons.total(),
        "not_sent_reasons": dict(reasons.most_common(_SHOWN_REASONS)),
        "not_sent_report": folder if reasons else "",
    }
