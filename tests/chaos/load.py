"""Perform the operations and send the messages in parallel, as fast as they are accepted."""

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from bucketcast.limits import SQS_CALL_MESSAGES
from tests.chaos import functions
from tests.chaos.injected import Send
from tests.chaos.operations import RealOperation
from tests.chaos.plan import Plan
from tests.e2e.system import Deployed

AHEAD = 0.03
"""The part of its events by which one stream may be ahead of another."""
MOST_WAITING = 300
"""Messages that may wait on the ingress queue before injection pauses."""
_WAITING_PART = 0.05
_PAUSE = 0.1


class Progress:
    """The progress of each stream; streams that are ahead wait, and faults wait for their time."""

    def __init__(self, totals: dict[str, int]) -> None:
        self._totals = totals
        self._done = dict.fromkeys(totals, 0)
        self._changed = threading.Condition()
        self.failed = False

    @property
    def part(self) -> float:
        """The part of all events that has happened, 0 to 1."""
        return self.events / max(1, sum(self._totals.values()))

    @property
    def events(self) -> int:
        return sum(self._done.values())

    def add(self, stream: str, events: int) -> None:
        """Count so many more events, and wait for the other streams."""
        with self._changed:
            self._done[stream] += events
            self._changed.notify_all()
            required = self._part(stream) - AHEAD
            self._changed.wait_for(lambda: self.failed or self._least() >= required)

    def wait_for(self, part: float) -> bool:
        """Wait until this part of the events has happened; return False if a stream failed."""
        with self._changed:
            self._changed.wait_for(lambda: self.failed or self.part >= part)
            return not self.failed

    def end(self, stream: str) -> None:
        """Mark a stream as complete."""
        with self._changed:
            self._done[stream] = self._totals[stream]
            self._changed.notify_all()

    def fail(self) -> None:
        """End all waiting."""
        with self._changed:
            self.failed = True
            self._changed.notify_all()

    def _part(self, stream: str) -> float:
        total = self._totals[stream]
        return self._done[stream] / total if total else 1.0

    def _least(self) -> float:
        return min(map(self._part, self._totals))


class Load:
    """All operations and messages of a run.

    `happened` counts the events of the real bucket, by name and path, as every log must have them.
    """

    def __init__(self, plan: Plan, system: Deployed, bucket: str, prefix: str) -> None:
        self.happened: Counter[tuple[str, str]] = Counter()
        self._plan = plan
        self._system = system
        self._bucket = bucket
        self._prefix = prefix
        totals = {f"worker {n}": sum(o.events for o in part) for n, part in enumerate(plan.real)}
        totals["injected"] = sum(send.events for send in plan.injected.sends)
        self.progress = Progress(totals)

    def run(self) -> None:
        """Perform all of it; raises the errors of S3 and SQS."""
        with ThreadPoolExecutor(len(self._plan.real) + 1) as pool:
            futures = [pool.submit(self._inject)]
            futures += [pool.submit(self._work, *worker) for worker in enumerate(self._plan.real)]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                self.progress.fail()
                raise

    def _work(self, number: int, operations: Sequence[RealOperation]) -> None:
        stream = f"worker {number}"
        try:
            for operation in operations:
                if self.progress.failed:
                    return
                self._perform(operation)
                for key in operation.keys:
                    self.happened[operation.name, f"{self._bucket}/{self._prefix}{key}"] += 1
                self.progress.add(stream, operation.events)
        except BaseException:
            self.progress.fail()
            raise
        self.progress.end(stream)

    def _perform(self, operation: RealOperation) -> None:
        s3, keys = self._system.s3, [self._prefix + key for key in operation.keys]
        at: dict[str, str] = {"Bucket": self._bucket, "Key": keys[0]}
        body = keys[0].encode() + b"x" * operation.size
        match operation.kind:
            case "put" | "overwrite":
                s3.put_object(**at, Body=body)  # type: ignore[arg-type]
            case "copy":
                origin = {"Bucket": self._bucket, "Key": self._prefix + operation.origin}
                s3.copy_object(**at, CopySource=origin)  # type: ignore[arg-type]
            case "multipart":
                self._upload_in_parts(at, body)
            case "delete":
                s3.delete_object(**at)  # type: ignore[arg-type]
            case "delete many":
                objects = {"Objects": [{"Key": key} for key in keys], "Quiet": True}
                s3.delete_objects(Bucket=self._bucket, Delete=objects)  # type: ignore[arg-type]

    def _upload_in_parts(self, at: dict[str, str], body: bytes) -> None:
        s3 = self._system.client("s3")
        upload = {**at, "UploadId": s3.create_multipart_upload(**at)["UploadId"]}
        etag = s3.upload_part(**upload, PartNumber=1, Body=body)["ETag"]
        parts = {"Parts": [{"PartNumber": 1, "ETag": etag}]}
        s3.complete_multipart_upload(**upload, MultipartUpload=parts)

    def _inject(self) -> None:
        try:
            for target, sends in _batches(self._plan.injected.sends):
                self._hold_back()
                if self.progress.failed:
                    return
                queue = self._system.targets[target]["queue"] if target else self._system.ingress
                self._system.send(queue, [send.body for send in sends])
                self.progress.add("injected", sum(send.events for send in sends))
        except BaseException:
            self.progress.fail()
            raise
        self.progress.end("injected")

    def _hold_back(self) -> None:
        """Wait until the ingress queue is short, so that faults happen while events arrive.

        Messages in flight of a killed function do not count, or all would wait for them.
        """
        most = min(MOST_WAITING, _WAITING_PART * len(self._plan.injected.sends))
        ingress = self._system.ingress
        while functions.count(self._system, ingress, functions.VISIBLE) > most:
            if self.progress.failed:
                return
            time.sleep(_PAUSE)


def _batches(sends: Sequence[Send]) -> Iterator[tuple[str, list[Send]]]:
    """Yield batches for one call of SQS each, for one queue, in order."""
    batch: list[Send] = []
    for send in sends:
        if batch and (len(batch) == SQS_CALL_MESSAGES or send.target != batch[0].target):
            yield batch[0].target, batch
            batch = []
        batch.append(send)
    if batch:
        yield batch[0].target, batch
