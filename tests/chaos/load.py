"""Performs the operations and sends the messages side by side, as fast as they are taken."""

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from bucketcast.limits import TOGETHER
from tests.chaos import functions
from tests.chaos.made import Send
from tests.chaos.plan import Plan
from tests.chaos.real import RealOperation
from tests.e2e.system import Deployed

AHEAD = 0.03
"""By which part of its events one stream may be ahead of another."""
MOST_WAITING = 300
"""So many messages may wait on the ingress queue; then its services are held back."""
_WAITING_PART = 0.05
_PAUSE = 0.1


class Progress:
    """How much of each stream is done; those who are ahead wait, and faults wait for their time."""

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
        """Say that so many more happened, and wait for the other streams."""
        with self._changed:
            self._done[stream] += events
            self._changed.notify_all()
            mine = self._part(stream) - AHEAD
            self._changed.wait_for(lambda: self.failed or self._least() >= mine)

    def wait_for(self, part: float) -> bool:
        """Wait until this part has happened; whether it ever will."""
        with self._changed:
            self._changed.wait_for(lambda: self.failed or self.part >= part)
            return not self.failed

    def end(self, stream: str) -> None:
        """Nothing more comes of this stream."""
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
    """All that happens in the buckets.

    `happened` are the events of the real one as they must be in every log: how often a name came
    for a path.
    """

    def __init__(self, plan: Plan, system: Deployed, bucket: str, prefix: str) -> None:
        self.happened: Counter[tuple[str, str]] = Counter()
        self._plan = plan
        self._system = system
        self._bucket = bucket
        self._prefix = prefix
        totals = {f"worker {n}": sum(o.events for o in part) for n, part in enumerate(plan.real)}
        totals["injected"] = sum(each.events for each in plan.made.sends)
        self.progress = Progress(totals)

    def run(self) -> None:
        """Do all of it; raises what S3 or SQS raised."""
        with ThreadPoolExecutor(len(self._plan.real) + 1) as pool:
            begun = [pool.submit(self._inject)]
            begun += [pool.submit(self._work, *one) for one in enumerate(self._plan.real)]
            try:
                for each in begun:
                    each.result()
            except BaseException:
                self.progress.fail()
                raise

    def _work(self, number: int, operations: Sequence[RealOperation]) -> None:
        stream = f"worker {number}"
        try:
            for one in operations:
                if self.progress.failed:
                    return
                self._perform(one)
                for key in one.keys:
                    self.happened[one.name, f"{self._bucket}/{self._prefix}{key}"] += 1
                self.progress.add(stream, one.events)
        except BaseException:
            self.progress.fail()
            raise
        self.progress.end(stream)

    def _perform(self, one: RealOperation) -> None:
        s3, keys = self._system.s3, [self._prefix + key for key in one.keys]
        at: dict[str, str] = {"Bucket": self._bucket, "Key": keys[0]}
        body = keys[0].encode() + b"x" * one.size
        match one.kind:
            case "put" | "overwrite":
                s3.put_object(**at, Body=body)  # type: ignore[arg-type]
            case "copy":
                origin = {"Bucket": self._bucket, "Key": self._prefix + one.origin}
                s3.copy_object(**at, CopySource=origin)  # type: ignore[arg-type]
            case "multipart":
                self._in_parts(at, body)
            case "delete":
                s3.delete_object(**at)  # type: ignore[arg-type]
            case "delete many":
                objects = {"Objects": [{"Key": key} for key in keys], "Quiet": True}
                s3.delete_objects(Bucket=self._bucket, Delete=objects)  # type: ignore[arg-type]

    def _in_parts(self, at: dict[str, str], body: bytes) -> None:
        s3 = self._system.client("s3")
        upload = {**at, "UploadId": s3.create_multipart_upload(**at)["UploadId"]}
        etag = s3.upload_part(**upload, PartNumber=1, Body=body)["ETag"]
        parts = {"Parts": [{"PartNumber": 1, "ETag": etag}]}
        s3.complete_multipart_upload(**upload, MultipartUpload=parts)

    def _inject(self) -> None:
        try:
            for target, sends in _batches(self._plan.made.sends):
                self._hold_back()
                if self.progress.failed:
                    return
                queue = self._system.targets[target]["queue"] if target else self._system.ingress
                self._system.send(queue, [each.body for each in sends])
                self.progress.add("injected", sum(each.events for each in sends))
        except BaseException:
            self.progress.fail()
            raise
        self.progress.end("injected")

    def _hold_back(self) -> None:
        """Wait until the ingress queue is short: what breaks is to break while events come.

        What a killed function had in hand does not count, or all would wait for it.
        """
        most = min(MOST_WAITING, _WAITING_PART * len(self._plan.made.sends))
        ingress = self._system.ingress
        while functions.count(self._system, ingress, functions.VISIBLE) > most:
            if self.progress.failed:
                return
            time.sleep(_PAUSE)


def _batches(sends: Sequence[Send]) -> Iterator[tuple[str, list[Send]]]:
    """As many as one call of SQS takes, each batch for one queue; the order stays."""
    batch: list[Send] = []
    for each in sends:
        if batch and (len(batch) == TOGETHER or each.target != batch[0].target):
            yield batch[0].target, batch
            batch = []
        batch.append(each)
    if batch:
        yield batch[0].target, batch
