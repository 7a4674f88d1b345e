"""What one target's trouble costs: itself in repeats, its neighbour in time, a kill in seconds.

The stack is deployed into a local AWS of its own, with two webhooks and nothing set but where they
are. Each round 300 objects are put at once, with the first webhook up, and again with it frozen for
a minute (SIGSTOP) as soon as it has had its first events. Run: `python -m benchmarks.frozen [N]`,
for N rounds.
"""

import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import psutil

from tests.e2e.deployment import Local
from tests.e2e.system import Deployed
from tests.servers import tls, webhook
from tests.servers.receiver import Answer

EVENTS = 300
FROZEN_SECONDS = 60.0
TIMEOUT_SECONDS = 300.0
CONFIG = """
[bucket.uploads]
[notify_webhook.frozen]
endpoint = "http://{frozen}/open"
[notify_webhook.neighbour]
endpoint = "http://{neighbour}/open"
"""


class Run:
    """The two webhooks and the stack that sends to them."""

    def __init__(self, folder: Path, running: ExitStack) -> None:
        made = tls.issue(folder / "tls")
        self.frozen, self.neighbour = (
            webhook.start(folder / name, made) for name in ("frozen", "neighbour")
        )
        running.callback(self.frozen.stop)
        running.callback(self.neighbour.stop)
        config = folder / "bucketcast.toml"
        where = {"frozen": self.frozen.address, "neighbour": self.neighbour.address}
        config.write_text(CONFIG.format(**where))
        local = Local(folder / "local")
        running.callback(local.stop)
        local.up(config)
        self.deployed = Deployed(local, config, folder)
        for name in where:
            self.deployed.add_rule("uploads", f"webhook.{name}")

    def put(self, prefix: str) -> None:
        def one(number: int) -> None:
            self.deployed.s3.put_object(Bucket="uploads", Key=f"{prefix}/{number:03}", Body=b"x")

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(one, range(EVENTS)))

    def arrived(self, server: webhook.WebhookServer, prefix: str) -> Counter[str]:
        """Count how often each key arrived, answered or not."""
        keys = (json.loads(each.body)["Key"] for each in server.requests())
        return Counter(key for key in keys if key.startswith(f"uploads/{prefix}/"))

    def until_all(self, server: webhook.WebhookServer, prefix: str) -> float:
        """Wait until all have arrived; return that time of the monotonic clock, in seconds."""
        return until(lambda: len(self.arrived(server, prefix)) == EVENTS)

    def kill(self, name: str) -> int:
        """Kill the processes of a target's function, and say how many there were."""
        killed = 0
        for process in psutil.process_iter():
            try:
                of = process.environ().get("AWS_LAMBDA_FUNCTION_NAME")
                ours = (
                    process.environ()
                    .get("AWS_ENDPOINT_URL", "")
                    .endswith(str(self.deployed.local.port))
                )
            except (psutil.AccessDenied, psutil.NoSuchProcess, psutil.ZombieProcess):
                continue
            if of == f"Bucketcast-webhook-{name}" and ours:
                process.kill()
                killed += 1
        return killed


def until(true: Callable[[], bool]) -> float:
    end = time.monotonic() + TIMEOUT_SECONDS
    while not true():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.05)
    return time.monotonic()


def calm(run: Run, prefix: str) -> float:
    """Return the seconds until the neighbour had all events, without a disturbance."""
    begun = time.monotonic()
    run.put(prefix)
    seconds = run.until_all(run.neighbour, prefix) - begun
    run.until_all(run.frozen, prefix)
    return seconds


def frozen(run: Run, prefix: str) -> tuple[float, int, int, float]:
    """Return the neighbour's seconds, repeats (all, most of one event), seconds to recover."""
    begun = time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        putting = pool.submit(run.put, prefix)
        until(lambda: len(run.arrived(run.frozen, prefix)) > 5)
        run.frozen.pause()
        stopped = time.monotonic()
        try:
            putting.result()
            seconds = run.until_all(run.neighbour, prefix) - begun
            time.sleep(max(0.0, stopped + FROZEN_SECONDS - time.monotonic()))
        finally:
            run.frozen.resume()
    recovered = run.until_all(run.frozen, prefix) - stopped - FROZEN_SECONDS
    time.sleep(5)  # for repeats that are still on their way
    times = run.arrived(run.frozen, prefix)
    return seconds, times.total() - EVENTS, max(times.values()), recovered


def killed(run: Run, prefix: str) -> tuple[int, float, int]:
    """Return the number of killed processes, the seconds until all had arrived, and repeats."""
    run.frozen.answer(Answer(delay=1.0))
    run.put(prefix)
    until(lambda: len(run.arrived(run.frozen, prefix)) > 5)
    number = run.kill("frozen")
    begun = time.monotonic()
    run.frozen.answer()
    seconds = run.until_all(run.frozen, prefix) - begun
    time.sleep(3)
    return number, seconds, run.arrived(run.frozen, prefix).total() - EVENTS


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as name, ExitStack() as running:
        run = Run(Path(name), running)
        calm(run, "warm")
        beside: list[float] = []
        alone: list[float] = []
        for number in range(rounds):
            alone.append(calm(run, f"calm-{number}"))
            seconds, repeats, most, recovered = frozen(run, f"frozen-{number}")
            beside.append(seconds)
            print(
                f"frozen for {FROZEN_SECONDS:.0f} s: {repeats} repeats, {most} requests for one "
                f"event at most, all there {recovered:.1f} s after it went on",
                flush=True,
            )
        rates = [EVENTS / statistics.median(each) for each in (alone, beside)]
        print(
            f"neighbour: {rates[0]:.0f} events/s, {rates[1]:.0f} beside the frozen one "
            f"({rates[1] / rates[0]:.2f}); seconds {alone} {beside}",
            flush=True,
        )
        for number in range(rounds):
            of, seconds, repeats = killed(run, f"killed-{number}")
            print(f"killed {of} in mid-batch: all there after {seconds:.1f} s, {repeats} repeats")


if __name__ == "__main__":
    main()
