"""Ingest and dispatch as fast as cores allow: processes side by side, with nothing to wait for.

Ingest takes S3's messages, 1,000 a batch, asks the rules and sends to the queues of one target, and
of ten; dispatch is the whole handler, posting to a webhook. AWS and the webhook are an nginx that
answers at once. Each process does the same work. Events a second a core are those of a second of
CPU, nginx's not counted. Run: `python -m benchmarks.side_by_side`.
"""

import multiprocessing
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.synchronize import Barrier

import boto3

from benchmarks import events, nginx
from benchmarks.dispatch import handler, invocation, print_header, records
from bucketcast.delivery import dead_letters
from bucketcast.delivery.consumer import Consumer
from bucketcast.delivery.engine import Engine
from bucketcast.delivery.messages import message
from bucketcast.delivery.policy import Policy
from bucketcast.delivery.queue import Queue
from bucketcast.ingest.fanout import Fanout
from bucketcast.ingest.intake import Intake
from bucketcast.limits import INGEST_CHUNK_BYTES
from bucketcast.rules import Rule, RuleIndex

EVENTS = 20_000
BATCH = 1_000
ROUNDS = 5
PROCESSES = (1, os.cpu_count() or 1)

Figure = tuple[float, float]
"""Events a second, and a second of CPU."""
_work: Callable[[], Figure]


def main() -> None:
    print_header("part", "processes", "events/s, all together", "events/s a core")
    with nginx.receiver() as settings:
        for title, part in PARTS.items():
            for number in PROCESSES:
                barrier = multiprocessing.Barrier(number)
                work = partial(_measure, part, settings["endpoint"], barrier)
                with multiprocessing.Pool(number, _keep, (work,)) as pool:
                    figures = pool.map(_run, range(number), chunksize=1)
                rate = sum(each for each, _ in figures)
                core = statistics.mean(each for _, each in figures)
                print(f"| {title} | {number} | {rate:,.0f} | {core:,.0f} |", flush=True)


def _keep(work: Callable[[], Figure]) -> None:
    global _work  # noqa: PLW0603 - a barrier reaches a process only as it begins
    _work = work


def _run(_: int) -> Figure:
    return _work()


def _measure(part: Callable[[str], Callable[[], None]], url: str, barrier: Barrier) -> Figure:
    """Return the median figure of the rounds, all of which the processes begin together."""
    run = part(url)
    run()
    rates, cores = [], []
    for _ in range(ROUNDS):
        barrier.wait()
        began, cpu = time.perf_counter(), time.process_time()
        run()
        cores.append(EVENTS / (time.process_time() - cpu))
        rates.append(EVENTS / (time.perf_counter() - began))
    return statistics.median(rates), statistics.median(cores)


def ingest(url: str, targets: int) -> Callable[[], None]:
    """Return what takes all events from S3's messages to the queue of a target."""
    sqs = boto3.client(
        "sqs",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="none",
        aws_secret_access_key="none",  # noqa: S106
    )
    arns = [f"arn:minio:sqs::t{number}:webhook" for number in range(targets)]
    index = RuleIndex(
        Rule(bucket=events.BUCKET, arn=arn, events=("s3:ObjectCreated:*",)) for arn in arns
    )
    fanout = Fanout(f"{url}000000000000/Bucketcast-*", sqs, deployed=lambda _: True)
    intake = Intake(lambda _: {events.BUCKET: index}, None, fanout)
    queue = f"{url}000000000000/Bucketcast-ingress"
    dead = partial(dead_letters.write, queue=Queue(f"{queue}-dead", sqs))
    own = Consumer(Queue(queue, sqs), dead)
    engine = Engine(own, intake, chunk_bytes=INGEST_CHUNK_BYTES)
    received = records(events.bodies(EVENTS))

    def run() -> None:
        for start in range(0, EVENTS, BATCH):
            messages = map(message, received[start : start + BATCH])
            now = round(time.time() * 1000)
            outcome = engine(messages, Policy(), now=now, remaining=lambda: 60.0)
            if outcome.stay or outcome.dead:
                raise RuntimeError("ingest did not send all events")

    return run


def dispatch(url: str) -> Callable[[], None]:
    """Return what posts all events to a webhook."""
    os.environ["AWS_ENDPOINT_URL_SQS"] = url
    opened = handler("webhook", {"endpoint": url})
    handle = opened.__enter__()  # its connections end with the process
    records = invocation(events.events(EVENTS))
    return lambda: handle(records)


PARTS: dict[str, Callable[[str], Callable[[], None]]] = {
    "ingest to a target": partial(ingest, targets=1),
    "ingest to ten targets": partial(ingest, targets=10),
    "dispatch": dispatch,
}


if __name__ == "__main__":
    main()
