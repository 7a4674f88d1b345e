"""One bucket's notifications, brought to what a deploy wants without a gap.

S3 heeds a change after minutes only. So where the way changes, the new one is added first, both
stay for as long as that may take, and only then does the old one go: the entry by this function,
EventBridge's rule by CloudFormation, which removes it after this has answered. What both ways tell
arrives twice in between.
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bucketcast import wiring
from bucketcast.store.switches import BY_ATTACH, Switch, Switches

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Wirer:
    """Writes a bucket's notifications; `overlap` is for how many seconds both ways are kept.

    `patiently` does a thing again where a right that is just given may not be known yet.
    """

    s3: "S3Client"
    switches: Switches | None
    properties: Mapping[str, str]
    patiently: Callable[[Callable[[], object]], None]
    by: str = ""
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.time

    def was_attached(self) -> Switch | None:
        """What is known of the bucket, if the command line attached it before a deploy did."""
        known = self._known(self.switches) if self.switches else None
        return known if known and known.as_attached else None

    def attach_again(self, known: Switch) -> None:
        """Let the events come as they came before a deploy that is rolled back took them over.

        Its rule of EventBridge goes after this, so S3 has to heed our entry first.

        Raises:
            Overlap: another entry takes our events by now.
        """
        via, switches = known.as_attached, self.switches
        if known.by != BY_ATTACH and switches:
            self._write(self._to_queue if via == "sqs" else self._to_rule)
            overlap = float(self.properties.get("Overlap", 0)) if via == "sqs" else 0.0
            known = again = Switch(via, self.now() + overlap, BY_ATTACH)
            self.patiently(lambda: switches.put(self._bucket, again))
        if via != self.properties["Via"] and (left := known.sure - self.now()) > 0:
            log.info("%s: both ways for %s s", self._bucket, left)
            self.sleep(left)

    def remove(self) -> None:
        """Take our entry out; what else is there stays."""
        self._write(lambda before: wiring.detach(before, self._ours))
        if switches := self.switches:
            self.patiently(lambda: switches.remove(self._bucket))

    def bring(self, was: str) -> None:
        """Let the events come by `Via`; `was` is how they came before, "" being not at all.

        Raises:
            Overlap: another entry takes our events.
            ClientError: AWS refused, also after a while where waiting could have helped.
        """
        via = self.properties["Via"]
        add = self._to_queue if via == "sqs" else wiring.to_eventbridge
        changed = self._write(add)
        both = was == "eventbridge" if via == "sqs" else self._by_queue(self._read())
        if not (switches := self.switches):
            return
        overlap = float(self.properties.get("Overlap", 0))
        known = self._known(switches)
        if changed or both or known is None or known.via != via:
            attached = known.as_attached if known else ""
            switch = Switch(via, self.now() + overlap, self.by, attached)
            self.patiently(lambda: switches.put(self._bucket, switch))
        if both:
            log.info("%s: both ways for %s s", self._bucket, overlap)
            self.sleep(overlap)
            self._settle(via)

    def _settle(self, via: str) -> None:
        """Take the old way away, unless another request came meanwhile, as in a roll-back."""
        known = self._known(self.switches) if self.switches else None
        if known is None or known.by != self.by:
            log.warning("%s: wired by another request meanwhile", self._bucket)
            return
        self._write(
            self._to_queue if via == "sqs" else lambda before: wiring.detach(before, self._ours)
        )

    def _known(self, switches: Switches) -> Switch | None:
        found: list[Switch | None] = []
        self.patiently(lambda: found.append(switches.of(self._bucket)))
        return found[0]

    def _to_queue(self, before: wiring.Document) -> dict[str, Any]:
        return wiring.attach(before, self._ours, self.properties["QueueArn"])

    def _to_rule(self, before: wiring.Document) -> dict[str, Any]:
        return wiring.detach(wiring.to_eventbridge(before), self._ours)

    def _by_queue(self, document: wiring.Document) -> bool:
        return wiring.detach(document, self._ours) != document

    def _write(self, change: Callable[[wiring.Document], dict[str, Any]]) -> bool:
        """Read, change and write; whether there was anything to change."""
        wrote: list[bool] = []
        self.patiently(lambda: wrote.append(self._write_once(change)))
        return any(wrote)

    def _write_once(self, change: Callable[[wiring.Document], dict[str, Any]]) -> bool:
        before = self._read()
        after = change(before)
        if after == before:
            return False
        self.s3.put_bucket_notification_configuration(
            Bucket=self._bucket,
            ExpectedBucketOwner=self.properties["Account"],
            NotificationConfiguration=after,  # type: ignore[arg-type] # the shape S3 gave us
            # To take our entry out must not fail because somebody else's destination is gone.
            SkipDestinationValidation=not self._by_queue(after),
        )
        return True

    def _read(self) -> dict[str, Any]:
        found = self.s3.get_bucket_notification_configuration(
            Bucket=self._bucket, ExpectedBucketOwner=self.properties["Account"]
        )
        return {key: value for key, value in found.items() if key != "ResponseMetadata"}

    @property
    def _bucket(self) -> str:
        return self.properties["Bucket"]

    @property
    def _ours(self) -> str:
        return self.properties["Id"]
