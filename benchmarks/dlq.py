"""`bucketcast dlq` on a full dead-letter queue: time, memory and rate.

    make up
    set -a; . .local/env; set +a
    .venv/bin/python -m benchmarks.dlq 100000

Only SQS is needed, of a local AWS or of an account. It makes a queue and a dead-letter queue of its
own, fills the latter with letters of one event each, and runs the commands as somebody on call
would: `ls`; `redrive --rate 200`, interrupted after half a minute; `redrive` without a rate until
nothing is left. Then it counts what arrived, by event. The queues are removed at the end.
"""

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import boto3
from botocore.exceptions import ClientError

from benchmarks.events import events
from bucketcast import cli
from bucketcast.aws.clients import Aws
from bucketcast.delivery.envelope import Delivery, pack, unpack
from bucketcast.queues import Queue, dead_letter

STACK = "BucketcastBenchmark"
NAME = f"{STACK}-webhook-dlq"
ARN = "arn:minio:sqs::dlq:webhook"
RATE = 200
RATED_SECONDS = 30.0
REASONS = ("answered 422: no such cat", "answered 413: too large", "no column named size")


class Stack(Aws):
    """A deployment of one target, whose queues are made here."""

    cloudformation: Any = SimpleNamespace(
        describe_stacks=lambda **_: {"Stacks": [{"Outputs": outputs()}]},
        exceptions=SimpleNamespace(ClientError=ClientError),
    )


def outputs() -> list[dict[str, str]]:
    base = os.environ["BENCHMARK_QUEUES"]
    target = {"arn": ARN, "kind": "webhook", "id": "dlq", "function": "none"}
    queues = {"queue": f"{base}/{NAME}", "dead": f"{base}/{NAME}-dead"}
    found = {
        "IngressQueueUrl": f"{base}/{STACK}-ingress",
        "RulesTable": "none",
        "Target": json.dumps(target | queues),
    }
    return [{"OutputKey": key, "OutputValue": text} for key, text in found.items()]


def fill(sqs: Any, url: str, count: int) -> None:
    queue = Queue(url, sqs)
    for start in range(0, count, 1_000):
        letters = []
        for number, event in enumerate(events(min(1_000, count - start), start)):
            (packed,) = pack([Delivery("rule", event, created=1)], round(time.time() * 1000))
            why = REASONS[number % len(REASONS)]
            letters.append(dead_letter(packed.body, why, target=ARN, error="Rejected", rule="rule"))
        if refused := queue.send(letters):
            raise SystemExit(f"SQS refused letters: {refused}")


def run(*words: str, seconds: float = 0) -> dict[str, Any]:
    """Run a command in a process of its own; after so many seconds it is interrupted."""
    command = [sys.executable, "-m", "benchmarks.dlq", "--run", *words]
    began = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        if seconds:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(seconds)
            process.send_signal(signal.SIGINT)
        out, _ = process.communicate()
    took = time.monotonic() - began
    result = json.loads(out)
    result |= {"seconds": took}
    return result


def arrived(sqs: Any, url: str) -> Iterator[str]:
    while messages := sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1
    ).get("Messages"):
        for each in messages:
            yield from (one.event.key for one in unpack(each["Body"])[1])
        entries = [
            {"Id": str(index), "ReceiptHandle": each["ReceiptHandle"]}
            for index, each in enumerate(messages)
        ]
        sqs.delete_message_batch(QueueUrl=url, Entries=entries)


def main(count: int) -> None:
    sqs = boto3.client("sqs")
    made = [f"{STACK}-ingress", f"{STACK}-ingress-dead", NAME, f"{NAME}-dead"]
    urls = [sqs.create_queue(QueueName=name)["QueueUrl"] for name in made]
    os.environ["BENCHMARK_QUEUES"] = urls[0].rpartition("/")[0]
    try:
        began = time.monotonic()
        fill(sqs, urls[3], count)
        print(f"filled with {count:,} letters in {time.monotonic() - began:.0f} s", flush=True)
        measure(sqs, urls[2], count)
    finally:
        for url in urls:
            sqs.delete_queue(QueueUrl=url)


def measure(sqs: Any, own: str, count: int) -> None:
    listed = run("dlq", "ls", ARN)
    report(f"ls: {listed['events']:,} events, {len(listed['reasons'])} reasons", listed)
    rated = run("dlq", "redrive", ARN, "--rate", str(RATE), seconds=RATED_SECONDS)
    rate = rated["events"] / max(rated["moving"], 1e-9)
    report(f"redrive --rate {RATE}: {rated['events']:,} events, {rate:.0f} a second", rated)
    rest = run("dlq", "redrive", ARN)
    report(f"redrive: {rest['events']:,} events", rest)
    found = Counter(arrived(sqs, own))
    twice = sum(found.values()) - len(found)
    print(f"arrived: {len(found):,} of {count:,}, {twice:,} of them twice", flush=True)


def report(what: str, result: dict[str, Any]) -> None:
    mib = result["peak"] / 1024
    seconds = f"{result['seconds']:.1f} s, {result['cpu']:.1f} s of CPU"
    print(f"{what}; {seconds}; {mib:.0f} MiB at the most", flush=True)


def command(words: list[str]) -> None:
    """Run the command line here, and add what it took to its document."""
    from io import StringIO  # noqa: PLC0415 - only the measured process needs it

    began = time.monotonic()
    out = StringIO()
    with contextlib.redirect_stdout(out):
        cli.main([*words, "--stack", STACK, "--json"], aws=Stack)
    moving = time.monotonic() - began
    used = resource.getrusage(resource.RUSAGE_SELF)
    result = json.loads(out.getvalue())
    cpu = used.ru_utime + used.ru_stime
    print(json.dumps(result | {"moving": moving, "cpu": cpu, "peak": used.ru_maxrss}))
    print(f"{' '.join(words)}: {moving:.1f} s, {cpu:.1f} s of CPU", file=sys.stderr)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        command(sys.argv[2:])
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else 100_000)
