"""`make demo`: S3 operations on a real file; every event is printed as it arrives.

A receiver serves [notify_webhook.primary]; PostgreSQL is added if it is installed on the machine.
Everything stays up until `make stop`.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bucketcast import cli
from bucketcast import deployment as deployed
from bucketcast.aws.clients import Aws
from bucketcast.config import load
from bucketcast.config.model import Deployment
from bucketcast.deployment import health
from bucketcast.terminal.output import plain
from localstack import console, operations, postgres, receiver
from localstack.database import ID, TABLE, TITLE, Database
from localstack.layout import ENV_FILE, ROOT, STACK, Failure, aws_environment
from localstack.up import run, up

ARRIVE_SECONDS = 180.0
DELIVERY_SECONDS = 3.0
SETTLE_SECONDS = 120.0
PROGRESS_SECONDS = 5.0
RULE = ("--event", "put,delete", "--suffix", operations.SUFFIX)


def demo(config: Path) -> None:
    """Run the demo.

    Raises ConfigErrors before anything is started, Failure when an event did not arrive.
    """
    began = time.monotonic()
    bucket = _bucket(load(config, os.environ, local=True))
    _start_receiver(config)
    database = _start_database()
    deployment = load(config, os.environ, local=True)
    up(config)
    _use_local_aws()
    _print_heading("Rules: put and delete of JPEGs, to every configured target")
    for target in deployment.targets:
        _bucketcast("event", "add", bucket, target.arn.short, *RULE, "--ignore-existing")
    _bucketcast("target", "ls")
    events = console.hear(console.ensure())
    print(f"\nThe same as web pages: {events}", flush=True)
    _print_heading(
        f"S3 operations on {operations.PHOTO.relative_to(ROOT)}, and what arrives at the webhook"
    )
    folder = time.strftime("demo-%H%M%S")
    rows = _perform(bucket, folder, [target.arn.short for target in deployment.targets])
    _print_heading("Events and their latency from S3 to the webhook")
    print(plain(("EVENT", "KEY", "LATENCY", "TARGETS"), rows))
    if database:
        _print_heading("The mirror of the bucket")
        _compare(database, f"{bucket}/{folder}/", operations.final_rows(bucket, folder))
    _wait_for_delivery()
    _bucketcast("target", "ls")
    _print_next_steps(database, deployment, events, time.monotonic() - began)


def _print_heading(title: str) -> None:
    print(f"\n== {title}", flush=True)


def _start_receiver(config: Path) -> None:
    """Start it behind the configured webhook, or without one behind a webhook of the demo's own."""
    if not any(receiver.served_targets(load(config, os.environ, local=True))):
        os.environ.update(receiver.own_variables())
    target = next(receiver.served_targets(load(config, os.environ, local=True)))
    receiver.start(target)
    print(f"webhook: {receiver.PROGRAM.name}, at {target.settings['endpoint']}", flush=True)


def _use_local_aws() -> None:
    """Point this process at the local AWS only."""
    variables = aws_environment()
    for name in os.environ.keys() - variables.keys():
        del os.environ[name]
    os.environ.update(variables)


def _bucketcast(*words: str) -> None:
    """Run the command as a user would."""
    print(f"$ bucketcast {shlex.join(words)}", flush=True)
    if cli.main(words):
        raise Failure(f"bucketcast {shlex.join(words)} failed")


def _wait_for_ingest() -> None:
    """Wait until ingest has read every event of the bucket, also those without a rule."""
    aws = Aws()
    queue = deployed.find(STACK, aws).ingress_queue
    if not _until(lambda: not health.messages(queue, aws), SETTLE_SECONDS):
        raise Failure(f"the ingress queue is not empty after {SETTLE_SECONDS:.0f} s")


def _until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait until a condition is met; return False if it is not within so many seconds."""
    deadline = time.monotonic() + seconds
    while not (met := condition()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return met


def _bucket(deployment: Deployment) -> str:
    for name in deployment.buckets:
        return name
    raise Failure("no bucket is configured: add [bucket.uploads] with create = true")


def _start_database() -> Database | None:
    """Start the machine's PostgreSQL, and make it a target by MinIO's variables."""
    initdb = postgres.initdb()
    if initdb is None:
        print(f"{TITLE}: not on this machine (apt install postgresql): skipped", flush=True)
        return None
    database = Database(initdb)
    database.ensure()
    os.environ.update(database.variables())
    print(f"{TITLE}: {database.program}, at 127.0.0.1:{database.port}", flush=True)
    return database


def _perform(bucket: str, folder: str, names: Sequence[str]) -> list[tuple[str, str, str, str]]:
    """Perform the operations, print the events that arrive, and return a row for each operation."""
    s3 = Aws().s3
    output = receiver.Output()
    rows = []
    unwanted = []
    for operation in operations.operations(s3, bucket, folder):
        print(f"  S3: {operation.title}: {bucket}/{operation.key}", flush=True)
        operation.perform()
        if not operation.event:
            unwanted.append(f"{bucket}/{operation.key}")
            rows.append(("(not sent)", operation.key, "-", "none, as expected"))
            continue
        arrival = _wait_for(output, operation.event, f"{bucket}/{operation.key}", unwanted)
        rows.append(
            (operation.event, operation.key, f"{arrival.latency * 1000:.0f} ms", ", ".join(names))
        )
    _wait_for_ingest()
    _print(output.arrivals(0.1), unwanted)
    output.close()
    return rows


def _wait_for(
    output: receiver.Output, event: str, path: str, unwanted: Sequence[str]
) -> receiver.Arrival:
    """Wait for one event at the receiver, and print all others that arrive meanwhile."""
    began = time.monotonic()
    while (waited := time.monotonic() - began) < ARRIVE_SECONDS:
        arrivals = output.arrivals(PROGRESS_SECONDS)
        if not arrivals:
            print(f"  ... no event for {time.monotonic() - began:.0f} s", flush=True)
        _print(arrivals, unwanted)
        for arrival in arrivals:
            if (arrival.name, arrival.path) == (event, path):
                return arrival
    _bucketcast("target", "ls")
    raise Failure(f"{event} of {path} did not arrive within {waited:.0f} s")


def _print(arrivals: Sequence[receiver.Arrival], unwanted: Sequence[str]) -> None:
    for arrival in arrivals:
        print(f"    arrived after {arrival.latency * 1000:4.0f} ms: {arrival.line}", flush=True)
        if arrival.path in unwanted:
            raise Failure(f"{arrival.path} arrived, though no rule matches it")


def _wait_for_delivery() -> None:
    """Wait until no message is on a queue, but not for a target that does not answer."""
    aws = Aws()
    queues = [target.queue for target in deployed.find(STACK, aws).targets]
    _until(lambda: not any(health.messages(queue, aws) for queue in queues), DELIVERY_SECONDS)


def _compare(database: Database, prefix: str, expected: set[str]) -> None:
    """Wait until the database holds exactly the objects of the bucket, and print them."""
    if not _until(lambda: database.keys(prefix) == expected, SETTLE_SECONDS):
        _bucketcast("target", "ls")
        keys = sorted(database.keys(prefix))
        raise Failure(f"{TITLE} holds {keys}, not {sorted(expected)}")
    print(f"{TITLE}, {TABLE}: {len(expected)} rows, the same as in the bucket")
    for key in sorted(expected):
        print(f"  {key}")


def _print_next_steps(
    database: Database | None, deployment: Deployment, events: str, seconds: float
) -> None:
    own = [target for target in deployment.targets if target.id != ID]
    _print_heading(
        f"Done in {seconds:.0f} s; everything keeps running until `make stop`. To use it:"
    )
    print(f'set -a; . {os.path.relpath(ENV_FILE)}; set +a; export PATH="{ROOT}/.venv/bin:$PATH"')
    print(f"aws s3 cp {operations.PHOTO.relative_to(ROOT)} s3://{_bucket(deployment)}/")
    if database:
        print(database.show_command())
    print(f"The console, with these events: {events}")
    if len(own) == 1:
        print(
            "For your own webhook, uncomment [notify_webhook.mine] in bucketcast.toml and repeat."
        )


if __name__ == "__main__":
    raise SystemExit(run("make demo", __doc__.split("\n")[0], demo))
