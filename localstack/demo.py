"""`make demo`: S3 operations on a real file; every event is printed as it arrives.

A receiver serves [notify_webhook.primary]; PostgreSQL and Redis are added if they are installed on
the machine. Everything stays up until `make stop`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from bucketcast import deployment as deployed
from bucketcast.aws.clients import Aws
from bucketcast.config import Deployment, load
from bucketcast.deployment import health
from bucketcast.terminal.output import plain
from localstack import databases, receiver, show, stage
from localstack.layout import ENV_FILE, ROOT, STACK, Failure
from localstack.program import run
from localstack.up import up

ARRIVE_SECONDS = 60.0
CALM_SECONDS = 3.0
SIGN_OF_LIFE_SECONDS = 5.0
RULE = ("--event", "put,delete", "--suffix", show.SUFFIX)


def demo(config: Path) -> None:
    """Raises ConfigErrors before anything is started, Failure when something did not arrive."""
    began = time.monotonic()
    bucket = _bucket(load(config, os.environ, local=True))
    stage.start_receiver(config)
    joined = _databases()
    deployment = load(config, os.environ, local=True)
    up(config)
    stage.lead_here()
    stage.say("Rules: put and delete of JPEGs, to every configured target")
    for each in deployment.targets:
        stage.bucketcast("event", "add", bucket, str(each.arn), *RULE, "--ignore-existing")
    stage.bucketcast("target", "ls")
    stage.say(f"S3 operations on {show.PHOTO.relative_to(ROOT)}, and what arrives at the webhook")
    folder = time.strftime("demo-%H%M%S")
    rows = _perform(bucket, folder, [f"{each.kind} {each.id}" for each in deployment.targets])
    stage.say("Events and their latency from S3 to the webhook")
    print(plain(("EVENT", "KEY", "LATENCY", "TARGETS"), rows))
    stage.say("Mirrors of the bucket")
    for database in joined:
        _compare(database, f"{bucket}/{folder}/", show.left(bucket, folder))
    _calm_down()
    stage.bucketcast("target", "ls")
    _farewell(joined, deployment, time.monotonic() - began)


def _bucket(deployment: Deployment) -> str:
    for name in deployment.buckets:
        return name
    raise Failure("no bucket is configured: add [bucket.uploads] with create = true")


def _databases() -> list[databases.Database]:
    """Start what is on the machine, and make each a target by MinIO's variables."""
    joined: list[databases.Database] = []
    for database in (databases.Postgres(), databases.Redis()):
        if database.missing:
            print(f"{database.title}: {database.missing}: skipped", flush=True)
            continue
        database.ensure()
        os.environ.update(database.variables())
        joined.append(database)
        print(f"{database.title}: {database.program}, at 127.0.0.1:{database.port}", flush=True)
    return joined


def _perform(bucket: str, folder: str, names: Sequence[str]) -> list[tuple[str, str, str, str]]:
    """Do it all, print what arrives, and give a row an event."""
    s3 = Aws().s3
    output = receiver.Output()
    rows = []
    unwanted = []
    for act in show.acts(s3, bucket, folder):
        print(f"  S3: {act.said}: {bucket}/{act.key}", flush=True)
        act.do()
        if not act.event:
            unwanted.append(f"{bucket}/{act.key}")
            rows.append(("(not sent)", act.key, "-", "none, as expected"))
            continue
        arrival = _wait_for(output, act.event, f"{bucket}/{act.key}", unwanted)
        rows.append((act.event, act.key, f"{arrival.latency * 1000:.0f} ms", ", ".join(names)))
    stage.wait_until_empty()
    _print(output.arrivals(0.1), unwanted)
    output.close()
    return rows


def _wait_for(
    output: receiver.Output, event: str, path: str, unwanted: Sequence[str]
) -> receiver.Arrival:
    """Wait for one event at the receiver; whatever else arrives meanwhile is printed, too."""
    began = time.monotonic()
    while (waited := time.monotonic() - began) < ARRIVE_SECONDS:
        arrivals = output.arrivals(SIGN_OF_LIFE_SECONDS)
        if not arrivals:
            print(f"  ... no event for {time.monotonic() - began:.0f} s", flush=True)
        _print(arrivals, unwanted)
        for arrival in arrivals:
            if (arrival.name, arrival.path) == (event, path):
                return arrival
    stage.bucketcast("target", "ls")
    raise Failure(f"{event} of {path} did not arrive within {waited:.0f} s")


def _print(arrivals: Sequence[receiver.Arrival], unwanted: Sequence[str]) -> None:
    for arrival in arrivals:
        print(f"    arrived after {arrival.latency * 1000:4.0f} ms: {arrival.line}", flush=True)
        if arrival.path in unwanted:
            raise Failure(f"{arrival.path} arrived, though no rule matches it")


def _calm_down() -> None:
    """Wait until no message is in flight, except for those that wait for an absent target."""
    aws = Aws()
    queues = [target.queue for target in deployed.find(STACK, aws).targets]
    deadline = time.monotonic() + CALM_SECONDS
    while any(health.messages(queue, aws) for queue in queues):
        if time.monotonic() > deadline:
            return
        time.sleep(0.1)


def _compare(database: databases.Database, prefix: str, expected: set[str]) -> None:
    """Wait until exactly what is in the bucket is in the database, and show it."""
    deadline = time.monotonic() + stage.SETTLE_SECONDS
    while (found := database.keys(prefix)) != expected:
        if time.monotonic() > deadline:
            stage.bucketcast("target", "ls")
            raise Failure(f"{database.title} holds {sorted(found)}, not {sorted(expected)}")
        time.sleep(0.1)
    what = "rows" if database.kind == "postgres" else "fields"
    print(f"{database.title}, {databases.TABLE}: {len(found)} {what}, the same as in the bucket")
    for key in sorted(found):
        print(f"  {key}")


def _farewell(joined: Sequence[databases.Database], deployment: Deployment, seconds: float) -> None:
    mine = [each for each in deployment.targets if each.id != databases.ID]
    stage.say(f"Done in {seconds:.0f} s; everything keeps running until `make stop`. To use it:")
    print(f'set -a; . {os.path.relpath(ENV_FILE)}; set +a; export PATH="{ROOT}/.venv/bin:$PATH"')
    print(f"aws s3 cp {show.PHOTO.relative_to(ROOT)} s3://{_bucket(deployment)}/")
    for database in joined:
        print(database.look())
    if len(mine) == 1:
        print(
            "For your own webhook, uncomment [notify_webhook.mine] in bucketcast.toml and repeat."
        )


if __name__ == "__main__":
    raise SystemExit(run("make demo", __doc__.split("\n")[0], demo))
