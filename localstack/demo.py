"""`make demo`: a real file through the deployed stack, every event printed as it arrives.

The receiver stands behind [notify_webhook.primary]; PostgreSQL and Redis join where their programs
are on the machine. All of it stays up until `make stop`.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Sequence
from pathlib import Path

from bucketcast import cli
from bucketcast.cli.screen import plain
from bucketcast.config import Deployment, load
from bucketcast.store import deployed
from bucketcast.store.access import Aws
from localstack import databases, receiver, show
from localstack.places import ENV_FILE, ROOT, STACK, Failure, aws_environment
from localstack.program import run
from localstack.up import up

ARRIVE_SECONDS = 60.0
SETTLE_SECONDS = 30.0
CALM_SECONDS = 3.0
SIGN_OF_LIFE_SECONDS = 5.0
RULE = ("--event", "put,delete", "--suffix", show.SUFFIX)


def demo(config: Path) -> None:
    """Raises ConfigErrors before anything is started, Failure when something did not arrive."""
    began = time.monotonic()
    bucket = _bucket(load(config, os.environ, local=True))
    _receiver(config)
    joined = _databases()
    deployment = load(config, os.environ, local=True)
    up(config)
    _lead_here()
    _say("Rules: JPEGs that are put or deleted, to every configured target")
    for each in deployment.targets:
        _bucketcast("event", "add", bucket, str(each.arn), *RULE, "--ignore-existing")
    _bucketcast("target", "ls")
    _say(f"A real file, {show.PHOTO.relative_to(ROOT)}, and what arrives at the webhook")
    folder = time.strftime("demo-%H%M%S")
    rows = _perform(bucket, folder, [f"{each.kind} {each.id}" for each in deployment.targets])
    _say("Every event, and how long after it happened the webhook had it")
    print(plain(("EVENT", "KEY", "LATENCY", "TARGETS"), rows))
    _say("What is where")
    for database in joined:
        _compare(database, f"{bucket}/{folder}/", show.left(bucket, folder))
    _calm_down()
    _bucketcast("target", "ls")
    _farewell(joined, deployment, time.monotonic() - began)


def _bucket(deployment: Deployment) -> str:
    for name in deployment.buckets:
        return name
    raise Failure("no bucket is configured: add [bucket.uploads] with create = true")


def _receiver(config: Path) -> None:
    """Start it behind the configured webhook, or where there is none behind one of the demo's."""
    target = receiver.watched(load(config, os.environ, local=True))
    if target is None:
        os.environ.update(receiver.own_variables())
        target = receiver.watched(load(config, os.environ, local=True))
    if target is None:
        raise Failure("the demo's own webhook is missing: a fault of localstack/receiver.py")
    receiver.start(target)
    print(f"webhook: {receiver.PROGRAM.relative_to(ROOT)}, at {target.settings['endpoint']}")


def _databases() -> list[databases.Database]:
    """Start what is on the machine, and make each a target by MinIO's variables."""
    joined: list[databases.Database] = []
    for database in (databases.Postgres(), databases.Redis()):
        if database.missing:
            print(f"{database.title}: {database.missing}: the demo goes on without it", flush=True)
            continue
        database.ensure()
        os.environ.update(database.variables())
        joined.append(database)
        print(f"{database.title}: {database.program}, at 127.0.0.1:{database.port}", flush=True)
    return joined


def _lead_here() -> None:
    """From here on this process, too, speaks to the local AWS only."""
    wanted = aws_environment()
    for name in os.environ.keys() - wanted.keys():
        del os.environ[name]
    os.environ.update(wanted)


def _bucketcast(*words: str) -> None:
    """Run the command as a user would."""
    print(f"$ bucketcast {shlex.join(words)}", flush=True)
    if cli.main(words):
        raise Failure(f"bucketcast {shlex.join(words)} failed")


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
            rows.append(("(not sent)", act.key, "-", "none, rightly"))
            continue
        arrival = _wait_for(output, act.event, f"{bucket}/{act.key}", unwanted)
        rows.append((act.event, act.key, f"{arrival.latency * 1000:.0f} ms", ", ".join(names)))
    _wait_until_empty()
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
            print(f"  ... no event yet, for {time.monotonic() - began:.0f} s", flush=True)
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
            raise Failure(f"{arrival.path} arrived, though no rule asks for it")


def _wait_until_empty() -> None:
    """Until every event of the bucket was looked at, those that no rule asks for too."""
    aws = Aws()
    queue = deployed.find(STACK, aws).ingress_queue
    deadline = time.monotonic() + SETTLE_SECONDS
    while deployed.depth(queue, aws)[0]:
        if time.monotonic() > deadline:
            raise Failure(f"the ingress queue is not empty after {SETTLE_SECONDS:.0f} s")
        time.sleep(0.1)


def _calm_down() -> None:
    """Until no message is under way; one that waits for an absent target is not waited for."""
    aws = Aws()
    queues = [target.queue for target in deployed.find(STACK, aws).targets]
    deadline = time.monotonic() + CALM_SECONDS
    while any(deployed.depth(queue, aws)[0] for queue in queues):
        if time.monotonic() > deadline:
            return
        time.sleep(0.1)


def _compare(database: databases.Database, prefix: str, expected: set[str]) -> None:
    """Wait until exactly what is in the bucket is in the database, and show it."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while (found := database.keys(prefix)) != expected:
        if time.monotonic() > deadline:
            _bucketcast("target", "ls")
            raise Failure(f"{database.title} holds {sorted(found)}, not {sorted(expected)}")
        time.sleep(0.1)
    what = "rows" if database.kind == "postgres" else "fields"
    print(f"{database.title}, {databases.PLACE}: {len(found)} {what}, as in the bucket")
    for key in sorted(found):
        print(f"  {key}")


def _farewell(joined: Sequence[databases.Database], deployment: Deployment, seconds: float) -> None:
    mine = [each for each in deployment.targets if each.id != databases.ID]
    _say(f"Done in {seconds:.0f} s; everything goes on running until `make stop`")
    print(f'set -a; . {os.path.relpath(ENV_FILE)}; set +a; PATH="{ROOT}/.venv/bin:$PATH"')
    print(f"aws s3 cp {show.PHOTO.relative_to(ROOT)} s3://{_bucket(deployment)}/")
    for database in joined:
        print(database.look())
    if len(mine) == 1:
        print("Your own webhook: [notify_webhook.mine] in bucketcast.toml, then `make demo` again.")


def _say(title: str) -> None:
    print(f"\n== {title}", flush=True)


if __name__ == "__main__":
    raise SystemExit(run("make demo", __doc__.split("\n")[0], demo))
