"""From a PUT to S3 until webhooks have its event, through a local stack of this file's own.

10 PUTs a second, 100, and as many as the local S3 takes, each for one target and for ten. CPU is
that of our handlers and of the emulator, for each PUT. The second table shows where the time goes
at 10 a second with one target: ours is what our handlers take, without their calls of AWS, which
the emulator answers. Run: `python -m benchmarks.system [SECONDS]`, for which each load lasts.
"""

import json
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from itertools import count, product
from math import inf
from pathlib import Path
from typing import NamedTuple, cast

import psutil

from benchmarks.dispatch import print_header
from tests import servers
from tests.e2e.deployment import STACK, Local
from tests.e2e.system import Deployed
from tests.servers.tls import issue
from tests.servers.webhook import WebhookServer

SECONDS = 15.0
RATES = (10.0, 100.0, inf)
TARGETS = (1, 10)
CONNECTIONS = 4
LATE_SECONDS = 600.0
CLOCKED = Path(__file__).parent / "clocked"
_KEY = re.compile(rb'"Key":"uploads/([^"]+)"')
_BUCKET = '[bucket.uploads]\ncreate = true\nvia = "sqs"\n'
# Each batch at once is a process of the emulator with a copy of the code.
_TARGET = """
[notify_webhook.t{0}]
endpoint = "http://{1}/open/{0}"
[notify_webhook.t{0}.deploy]
max_concurrency = 2
"""


class Put(NamedTuple):
    """When an object was put, and when its event arrived at each target, in Unix seconds."""

    sent: float
    arrived: Sequence[float]


class Call(NamedTuple):
    """A call of one of our handlers, as `clocked` writes it.

    `oldest` is when its oldest message was sent, `cpu` in seconds, `aws` when its own calls of AWS
    began and ended.
    """

    function: str
    oldest: float
    began: float
    cpu: float
    aws: Sequence[tuple[float, float]]

    @property
    def is_ingest(self) -> bool:
        return self.function == f"{STACK}-ingest"

    def waited(self, until: float) -> float:
        """Return for how long it waited for AWS until then."""
        return sum(min(ended, until) - began for began, ended in self.aws if began < until)


class System:
    """The deployed stack and its receiver."""

    def __init__(self, deployed: Deployed, receiver: WebhookServer) -> None:
        self._deployed = deployed
        self._receiver = receiver
        self._folder = deployed.local.folder
        pid, _ = (self._folder / "pids" / "ministack.pid").read_text().splitlines()
        self._emulator = psutil.Process(int(pid))

    def put(self, targets: int, rate: float, seconds: float) -> list[Put]:
        """Put objects at a rate for so long, and wait until all their events have arrived."""
        self._receiver.clear()
        sent: dict[str, float] = {}
        prefix, numbers, began = f"{targets}/{time.time_ns()}", count(), time.time()

        def put_in_turn(connection: HTTPConnection) -> None:
            for number in numbers:
                time.sleep(max(0.0, began + number / rate - time.time()))
                now = time.time()
                if now > began + seconds:
                    return
                connection.request("PUT", f"/uploads/{prefix}-{number}", b"x" * 1_000)
                response = connection.getresponse()
                response.read()
                if response.status != 200:
                    raise RuntimeError(f"the local S3 answered {response.status} to a PUT")
                sent[f"{prefix}-{number}"] = now

        port = self._deployed.local.port
        with ThreadPoolExecutor() as pool:
            connections = [HTTPConnection("127.0.0.1", port) for _ in range(CONNECTIONS)]
            list(pool.map(put_in_turn, connections))
        self._deployed.until(
            "all events have arrived",
            lambda: len(self._receiver.requests()),
            lambda arrived: arrived >= len(sent) * targets,
            within=LATE_SECONDS,
        )
        self._deployed.until_settled(within=LATE_SECONDS)
        arrived: dict[str, dict[str, float]] = {key: {} for key in sent}
        for request in self._receiver.requests():
            key = cast("re.Match[bytes]", _KEY.search(request.body))[1].decode()
            arrived[key].setdefault(request.path, request.at)  # the first of several
        return [Put(at, [*arrived[key].values()]) for key, at in sent.items()]

    def calls(self) -> list[Call]:
        """Return the calls of our handlers since they were last asked for."""
        calls = []
        for file in (self._folder / "tmp").glob("clocked-*.jsonl"):
            calls += [Call(*json.loads(line)) for line in file.read_text().splitlines()]
            file.write_text("")
        return calls

    def emulator_cpu(self) -> float:
        """Return the seconds of CPU that the emulator's own process has used."""
        times = self._emulator.cpu_times()
        return times.user + times.system


@contextmanager
def system() -> Iterator[System]:
    """Deploy a stack whose functions are clocked."""
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        receiver = cast(
            "WebhookServer", servers.run("webhook", folder / "r", issue(folder / "tls"))
        )
        local = Local(folder / "local")
        config = folder / "bucketcast.toml"
        tables = [_TARGET.format(number, receiver.address) for number in range(max(TARGETS))]
        config.write_text("".join([_BUCKET, *tables]))
        try:
            local.up(config, BUCKETCAST_RECORDER=str(CLOCKED))
            deployed = Deployed(local, config, folder)
            functions = deployed.client("lambda")
            for name in ("ingest", *(f"webhook-t{number}" for number in range(max(TARGETS)))):
                functions.update_function_configuration(
                    FunctionName=f"{STACK}-{name}", Handler="clocked.handler"
                )
            for targets in TARGETS:
                for number in range(targets):
                    deployed.add_rule("uploads", f"webhook.t{number}", "--prefix", f"{targets}/")
            yield System(deployed, receiver)
            deployed.close()
        finally:
            local.stop()
            receiver.stop()


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    with system() as running:
        print_header(
            *("PUTs/s", "targets", "deliveries/s", "p50 ms", "p99", "worst", "our CPU, ms"),
            "the emulator's",
        )
        alone = None
        for rate, targets in product(RATES, TARGETS):
            running.put(targets, rate, seconds / 3)  # starts as many functions as it needs
            running.calls()
            cpu = running.emulator_cpu()
            puts = running.put(targets, rate, seconds)
            cpu, calls = running.emulator_cpu() - cpu, running.calls()
            _print_load(targets, puts, calls, cpu)
            alone = alone or (puts, calls)
        if alone:
            _print_stages(*alone)


def _print_load(targets: int, puts: Sequence[Put], calls: Sequence[Call], cpu: float) -> None:
    began, sent = min(put.sent for put in puts), max(put.sent for put in puts)
    ended = max(max(put.arrived) for put in puts)
    latencies = [at - put.sent for put in puts for at in put.arrived]
    print(
        f"| {(len(puts) - 1) / (sent - began):.0f} | {targets}",
        f"{len(latencies) / (ended - began):.0f}",
        _spread(latencies),
        f"{sum(call.cpu for call in calls) / len(puts) * 1e3:.1f} | {cpu / len(puts) * 1e3:.1f} |",
        sep=" | ",
        flush=True,
    )


def _print_stages(puts: Sequence[Put], calls: Sequence[Call]) -> None:
    """Print the stages of PUTs with one target, of those whose calls had no other event."""
    stages = []
    for put in puts:
        within = [call for call in calls if put.sent <= call.began <= put.arrived[0]]
        if sorted(call.is_ingest for call in within) != [False, True]:
            continue
        dispatch, ingest = sorted(within, key=lambda call: call.is_ingest)
        waited = ingest.waited(dispatch.oldest)
        ours = dispatch.oldest - ingest.began - waited, put.arrived[0] - dispatch.began
        stages.append(
            {
                "S3 takes it, until it is on the ingress queue": ingest.oldest - put.sent,
                "the queue, until ingest begins": ingest.began - ingest.oldest,
                "the calls of ingest, until it is on the target's queue": waited,
                "the queue, until dispatch begins": dispatch.began - dispatch.oldest,
                "**ours**: ingest, without its calls": ours[0],
                "**ours**: dispatch, until it is at the webhook": ours[1],
                "**ours**, together": sum(ours),
            }
        )
    print()
    print_header(f"{len(stages)} of {len(puts)} PUTs, each alone", "p50 ms", "p99", "worst")
    for name in stages[0] if stages else ():
        print(f"| {name} | {_spread([stage[name] for stage in stages])} |")


def _spread(seconds: Sequence[float]) -> str:
    """Return the median, the 99th percentile and the largest, in milliseconds."""
    percentiles = statistics.quantiles(seconds, n=100, method="inclusive")
    return " | ".join(
        f"{each * 1e3:.1f}" for each in (percentiles[49], percentiles[98], max(seconds))
    )


if __name__ == "__main__":
    main()
