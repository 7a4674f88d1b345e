"""The real dispatch handler, in a process of its own, with as much as Lambda may hand over."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LIMIT_MB = 512
"""What a target's function has, unless its `deploy.memory` says otherwise."""
PROGRAM = """
import json, sys, time
from msgspec import Raw
from bucketcast.delivery.envelope import Delivery, pack
from bucketcast.event import Event
from bucketcast.targets.webhook import Target
from functions.dispatch.handler import build

messages, events, size = map(int, sys.argv[1:])

class Holding(Target):
    "Holds the bodies of a batch together, as kinds do that send in bulk."
    batch_size = 1_000
    taken = 0
    def send(self, events):
        Holding.taken += len([self.body(each) for each in events])
        return {}
    @classmethod
    def preload(cls):
        pass

def peak_kb():
    # Not ru_maxrss: that of a child begins with what its parent held when it was started.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))

class Context:
    def get_remaining_time_in_millis(self):
        return 60_000

def body(number):
    # Keys that differ, and the rest of the record alike, as in real ones.
    made = [
        Delivery("0123456789abcdef", Event(
            name="s3:ObjectCreated:Put", bucket="uploads", key=f"{number}/{n}" + "k" * (size // 4),
            time="2026-01-02T03:04:05.678Z", sequencer=f"{number * 1_000 + n:016X}",
            stored=Raw(b'{"padding":"%b","n":%d}' % (b"x" * size, n)), size=n, etag=f"{n:032x}",
        ))
        for n in range(events)
    ]
    (packed,) = pack(made)
    return packed.body

def record(number):
    now = str(round(time.time() * 1000))
    attributes = {"SentTimestamp": now, "ApproximateReceiveCount": "1"}
    return {"messageId": str(number), "receiptHandle": str(number), "body": body(number),
            "attributes": attributes, "eventSourceARN": "arn:aws:sqs:eu-central-1:1:queue"}

import os
handler = build(os.environ, lambda _: Holding)
given = {"Records": [record(number) for number in range(messages)]}
before = peak_kb()
answer = handler(given, Context())
peak = peak_kb()
payload = sum(len(each["body"]) for each in given["Records"])
print(json.dumps({"taken": Holding.taken, "stay": len(answer["batchItemFailures"]),
                  "before": before // 1024, "peak": peak // 1024, "payload": payload}))
"""
ENVIRON = {
    "BUCKETCAST_KIND": "webhook",
    "BUCKETCAST_ID": "primary",
    "BUCKETCAST_SETTINGS": json.dumps({"endpoint": "http://127.0.0.1:9/"}),
    "BUCKETCAST_QUEUE_URL": "http://127.0.0.1:9/own",
    "BUCKETCAST_DEAD_QUEUE_URL": "http://127.0.0.1:9/dead",
    "POWERTOOLS_SERVICE_NAME": "dispatch",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'layers/core/python'}",
}


PORTION_MB = 100
"""What a batch may add, however many events it has: a chunk of them, and what is sent of it."""


def run(messages: int, events: int, size: int) -> dict[str, int]:
    command = [sys.executable, "-c", PROGRAM, *map(str, (messages, events, size))]
    done = subprocess.run(
        command, env=os.environ | ENVIRON, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    sizes: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    assert (sizes["taken"], sizes["stay"]) == (messages * events, 0)
    return sizes


def test_the_largest_batch_of_the_latency_profile_fits() -> None:
    sizes = run(messages=10, events=1_000, size=4_000)
    assert sizes["peak"] < LIMIT_MB, sizes


@pytest.mark.parametrize(("messages", "events", "size"), [(133, 1_000, 1_000), (40, 100, 64_000)])
def test_a_batch_takes_no_more_memory_than_one_chunk(messages: int, events: int, size: int) -> None:
    sizes = run(messages, events, size)
    assert sizes["peak"] - sizes["before"] < PORTION_MB, sizes
