"""One run against a deployed stack with ten servers."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.chaos.breakage import Fault
from tests.chaos.faults import Faults
from tests.chaos.injected import BUCKET, REFUSED
from tests.chaos.judge import Judge, Verdict
from tests.chaos.load import Load
from tests.chaos.plan import Plan
from tests.e2e.all_servers import AllServers
from tests.e2e.system import Deployed
from tests.servers import Server
from tests.servers.receiver import Answer
from tests.servers.webhook import WebhookServer

_EVENTS = ["s3:ObjectCreated:*", "s3:ObjectRemoved:*", "s3:ObjectTransition:*"]
_READS = ["s3:ObjectAccessed:*"]


@dataclass(frozen=True)
class Result:
    """The result of a run; times are seconds, `killed` is how many processes of functions were."""

    plan: Plan
    faults: list[Fault]
    killed: int
    verdict: Verdict
    loading: float
    settling: float
    judging: float


def prepare(system: Deployed, all_servers: AllServers) -> None:
    """Make the bucket of the model, with a rule for each target, and let the webhook reject poison.

    The bucket itself stays empty: it exists so that it can have rules.
    """
    system.s3.create_bucket(Bucket=BUCKET)
    add_rules(system, BUCKET)
    webhook(all_servers).always_answer(Answer(status=422, match=f'"Key":"{BUCKET}/{REFUSED}'))


def add_rules(system: Deployed, bucket: str) -> None:
    """Make a rule for each target, by the gateway."""
    rules: Any = [
        {"Id": name.replace(".", "-"), "QueueArn": target["arn"], "Events": _EVENTS + _READS}
        for name, target in system.targets.items()
    ]
    through = system.through("s3")
    try:
        through.put_bucket_notification_configuration(
            Bucket=bucket, NotificationConfiguration={"QueueConfigurations": rules}
        )
    finally:
        through.close()


def shorten_visibility(system: Deployed, seconds: int) -> None:
    """Let messages of a killed function become visible after so many seconds.

    As deployed it takes six times the function's timeout, as Lambda demands.
    """
    for queue in (system.ingress, *(target["queue"] for target in system.targets.values())):
        system.sqs.set_queue_attributes(
            QueueUrl=queue, Attributes={"VisibilityTimeout": str(seconds)}
        )


def run(
    plan: Plan,
    system: Deployed,
    all_servers: AllServers,
    real: tuple[str, str],
    *,
    settle: float,
    log: Callable[[str], None] = lambda _: None,
) -> Result:
    """Perform the plan in the real bucket below a prefix, wait until nothing waits, and judge.

    Raises:
        AssertionError: messages still wait after `settle` seconds.
    """
    load = Load(plan, system, *real)
    faults = Faults(plan.faults, system, all_servers)
    began = time.monotonic()
    log(f"{plan.events:,} events, {len(plan.faults)} faults, seed {plan.seed}")
    with faults.during(load.progress):
        load.run()
    loaded = time.monotonic()
    log(f"all sent after {loaded - began:.0f} s; {system.depths()}")
    all_servers.each(_restore)
    system.until_settled(within=settle)
    settled = time.monotonic()
    log(f"nothing waits any more after {settled - began:.0f} s")
    verdict = Judge(plan, load, system, all_servers, real)()
    durations = (loaded - began, settled - loaded, time.monotonic() - settled)
    return Result(plan, faults.done, faults.killed, verdict, *durations)


def webhook(all_servers: AllServers) -> WebhookServer:
    server = all_servers.running["webhook"]
    assert isinstance(server, WebhookServer)
    return server


def _restore(server: Server) -> None:
    server.start_again()
    server.resume()
