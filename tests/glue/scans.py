"""A bucket that tests scan whole, with a real queue for its alerts."""

from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from bucketcast import sources
from bucketcast.delivery.envelope import is_envelope, unpack
from bucketcast.delivery.policy import ATTRIBUTE, History
from bucketcast.event.names import from_words
from bucketcast.rules import Rule
from bucketcast.settings.pipeline import Scan
from bucketcast.state.rules import Rules
from glue_jobs.listing.schema import LISTING, Listing
from glue_jobs.scanner.scan import scan
from tests.glue.emulator import Emulator
from tests.glue.inventories import TAKEN
from tests.glue.jobs import run_job, settings_of
from tests.unit.moto_aws import TABLE
from tests.unit.samples import received

BUCKET: Final = "uploads"


class Scans:
    """A bucket that a test fills, the queue of its alerts, and the folders of its scans."""

    def __init__(
        self, spark: SparkSession, aws: Emulator, rules: Rules, folder: Path, name: str
    ) -> None:
        self.folder = folder.as_uri()
        self._spark = spark
        self._rules = rules
        self._sqs = aws.client("sqs")
        self._queue = self._sqs.create_queue(
            QueueName=name, Attributes={"VisibilityTimeout": "43200"}
        )["QueueUrl"]
        self._runs = 0
        self.keys: dict[str, int] = {}
        self.versions = True
        self.sizes = True
        self.taken = TAKEN
        self.prefix: str | None = ""
        self.report = ""

    def listing(self, spark: SparkSession, bucket: str, _source: str, *, prefix: str) -> Listing:
        """Read the content; `keys` has the numbers of versions."""
        size = 1 if self.sizes else None
        rows = [
            (bucket, key, f"v{nth}", nth == 0, False, size, TAKEN, None, "STANDARD")
            for key, number in self.keys.items()
            for nth in range(number)
            if key.startswith(prefix)
        ]
        objects = spark.createDataFrame(rows, LISTING)
        return Listing(
            objects,
            self.versions,
            self.taken,
            "a list",
            lacking=frozenset() if self.sizes else frozenset({"size"}),
            prefix=self.prefix,
            report=self.report,
        )

    def add_rule(self, events: str = "scanner", prefix: str = "", target: str = "primary") -> None:
        arn = f"arn:minio:sqs::{target}:webhook"
        self._rules.add(Rule(bucket=BUCKET, arn=arn, events=from_words(events), prefix=prefix))

    def remove_rules(self, target: str) -> None:
        rules = self._rules.of(BUCKET)
        self._rules.remove([rule for rule in rules if f":{target}:" in rule.arn])

    def scan(self, **options: str) -> dict[str, Any]:
        """Scan for more than 2 versions or 2 sub-folders; return the result."""
        self._runs += 1
        folder = f"{self.folder}/runs/{self._runs}"
        values = {
            "bucket": BUCKET,
            "run": folder,
            "state": f"{self.folder}/alerts",
            "ingress": self._queue,
            "table": TABLE,
            "alert_excess_versions": "2",
            "alert_excess_folders": "2",
        } | options
        result: dict[str, Any] = run_job(scan, self._spark, settings_of(Scan, values))
        return result

    def events(self) -> list[tuple[str, str, int | None, str]]:
        """Receive the events that wait in the queue, each with the only target that it is for."""
        found = []
        for message in received(self._sqs, self._queue):
            body, attributes = message["Body"], message.get("MessageAttributes", {})
            history = History.read(attributes.get(ATTRIBUTE, {}).get("StringValue", ""))
            events = (
                [delivery.event for delivery in unpack(body)]
                if is_envelope(body)
                else sources.events(body)
            )
            to = history.to.rpartition("::")[2]
            found += [
                (event.name.rpartition(":")[2], event.key, event.size, to) for event in events
            ]
        return sorted(found)


class CrashError(Exception):
    """The job crashed here."""


def crash_at(scans: Scans, function: str) -> None:
    """Scan, and crash when this function is called."""

    def crash(*_: object, **__: object) -> None:
        raise CrashError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(function, crash)
        with pytest.raises(CrashError):
            scans.scan()
