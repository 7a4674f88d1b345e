"""As much as Lambda may hand over to ingest, for rules that send each event on many times.

In a process of its own, whose memory is nobody else's.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
PORTION_MB = 60
"""What a batch may add, however many copies of its events the rules make."""
PROGRAM = """
import json, time
from contextlib import nullcontext
from bucketcast.delivery.envelope import pack
from bucketcast.delivery.engine import Engine
from bucketcast.limits import INGEST_CHUNK_BYTES
from bucketcast.delivery.messages import Message
from bucketcast.delivery.policy import Policy
from bucketcast.ingest.intake import Intake
from bucketcast.rules import Rule, RuleIndex

MESSAGES, EVENTS, TARGETS, RULES = 150, 4, 1_000, 1
names = ("s3:ObjectCreated:*",)
rules = RuleIndex(
    Rule(bucket="uploads", arn=f"arn:minio:sqs::{target}:webhook", events=names, name=str(rule))
    for target in range(TARGETS) for rule in range(RULES)
)

class Sending:
    "Packs what there is to send, and takes all of it."
    sent = 0
    def send(self, batches, remaining):
        for batch in batches.values():
            list(pack([one.delivery for one in batch]))
            Sending.sent += len(batch)
        return []

class Own:
    in_order = False
    def send(self, messages):
        raise AssertionError(messages)
    def dead_letter(self, dead):
        raise AssertionError(dead)
    def heartbeat(self, seconds, first):
        return nullcontext()

def record(number):
    about = {"bucket": {"name": "uploads"}, "object": {"key": f"k{number}", "eTag": "a"}}
    return {"eventVersion": "2.0", "eventSource": "minio:s3", "s3": about,
            "eventTime": "2026-01-02T03:04:05.678Z", "eventName": "s3:ObjectCreated:Put"}

def peak_mb():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) // 1024

now = round(time.time() * 1000)
given = [
    Message(str(n), str(n), json.dumps({"Records": [record(e) for e in range(EVENTS)]}), now, 1)
    for n in range(MESSAGES)
]
before = peak_mb()
intake = Intake(lambda _: {"uploads": rules}, None, Sending())
engine = Engine(Own(), intake, chunk_bytes=INGEST_CHUNK_BYTES)
outcome = engine(given, Policy(), now=now, remaining=lambda: 30.0)
counts = intake.take_counts()
print(json.dumps({"sent": Sending.sent, "stay": len(outcome.stay), "events": counts.events,
                  "matched": counts.matched, "before": before, "peak": peak_mb()}))
"""


def sizes() -> dict[str, int]:
    """Route the batch: how many events came and went, and MB before and at most."""
    environ = os.environ | {"PYTHONPATH": str(ROOT / "layers/core/python")}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def test_a_batch_takes_no_more_memory_than_one_chunk() -> None:
    seen = sizes()
    assert (seen["stay"], seen["events"]) == (0, 600)
    assert seen["sent"] == seen["matched"] == 600_000
    assert seen["peak"] - seen["before"] < PORTION_MB, seen
