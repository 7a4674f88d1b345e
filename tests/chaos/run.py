"""One run against a deployed stack with ten servers."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.chaos import functions
from tests.chaos.causes import Traces
from tests.chaos.faults import Done, Faults
from tests.chaos.judge import Judge, Verdict
from tests.chaos.load import Load, Progress
from tests.chaos.made import BUCKET, REFUSED
from tests.chaos.plan import Plan
from tests.e2e.system import Deployed
from tests.e2e.ten import Ten
from tests.servers import Server
from tests.servers.receiver import Answer
from tests.servers.webhook import WebhookServer

_EVENTS = ["s3:ObjectCreated:*", "s3:ObjectRemoved:*", "s3:ObjectTransition:*"]
_READS = ["s3:ObjectAccessed:*"]
REPORTED_EVERY = 60.0


@dataclass(frozen=True)
class Result:
    """How a run went; times are seconds, `emulator` the processor's time of the local AWS alone."""

    plan: Plan
    faults: list[Done]
    verdict: Verdict
    loading: float
    settling: float
    judging: float
    emulator: float


def prepare(system: Deployed, ten: Ten) -> None:
    """Make the bucket of the model known, with a rule for each target, and the poison poisonous.

    Nothing happens in that bucket itself: it is there so that rules can be.
    """
    system.s3.create_bucket(Bucket=BUCKET)
    rules: Any = [
        {"Id": name.replace(".", "-"), "QueueArn": each["arn"], "Events": _EVENTS + _READS}
        for name, each in system.targets.items()
    ]
    through = system.through("s3")
    try:
        through.put_bucket_notification_configuration(
            Bucket=BUCKET, NotificationConfiguration={"QueueConfigurations": rules}
        )
    finally:
        through.close()
    webhook(ten).always_answer(Answer(status=422, match=f'"Key":"{BUCKET}/{REFUSED}'))


def bring_back_soon(system: Deployed, seconds: int) -> None:
    """Let what a killed function had in hand be seen again after so long.

    As deployed it takes six times as long as the function may run, as Lambda asks for.
    """
    for queue in (system.ingress, *(each["queue"] for each in system.targets.values())):
        system.sqs.set_queue_attributes(
            QueueUrl=queue, Attributes={"VisibilityTimeout": str(seconds)}
        )


def run(
    plan: Plan,
    system: Deployed,
    ten: Ten,
    real: tuple[str, str],
    *,
    settle: float,
    say: Callable[[str], None] = lambda _: None,
) -> Result:
    """Do what is planned in the real bucket below a prefix, wait until all is quiet, and judge.

    Raises:
        AssertionError: messages still wait after `settle` seconds.
    """
    load = Load(plan, system, *real)
    faults = Faults(plan.faults, system, ten)
    began, used = time.monotonic(), _used(system)
    say(f"{plan.events:,} events, {len(plan.faults)} faults, seed {plan.seed}")
    with faults.during(load.progress), _in_background(_report_tenths, load.progress, faults, say):
        load.run()
    loaded = time.monotonic()
    say(f"all sent after {loaded - began:.0f} s; {system.depths()}")
    ten.each(_whole)
    over = threading.Event()
    with _in_background(_report_waiting, over, system, say):
        try:
            system.until_settled(within=settle)
        finally:
            over.set()
    settled, used = time.monotonic(), _used(system) - used
    say(f"nothing waits any more after {settled - began:.0f} s")
    verdict = Judge(plan, load, system, ten, real, Traces(system.local.log))()
    judged = time.monotonic()
    spent = (loaded - began, settled - loaded, judged - settled, used)
    return Result(plan, faults.done, verdict, *spent)


def _report_tenths(progress: Progress, faults: Faults, say: Callable[[str], None]) -> None:
    """Say each tenth of the way."""
    for tenth in range(1, 10):
        if progress.wait_for(tenth / 10):
            say(f"{progress.events:,} events sent, {len(faults.done)} faults over")


def _report_waiting(over: threading.Event, system: Deployed, say: Callable[[str], None]) -> None:
    """Say now and then what is still on its way."""
    while not over.wait(REPORTED_EVERY):
        say(f"still waiting: {system.depths()}")


@contextmanager
def _in_background(report: Callable[..., None], *arguments: object) -> Iterator[None]:
    """Report from a thread while the block runs; the thread ends with it."""
    thread = threading.Thread(target=report, args=arguments, name=report.__name__)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _used(system: Deployed) -> float:
    """Seconds of the processor that the local AWS itself has used so far."""
    times = functions.emulator(system).cpu_times()
    return float(times.user + times.system)


def webhook(ten: Ten) -> WebhookServer:
    found = ten.running["webhook"]
    assert isinstance(found, WebhookServer)
    return found


def _whole(server: Server) -> None:
    server.start_again()
    server.resume()
