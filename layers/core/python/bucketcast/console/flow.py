"""The way of events, from buckets to targets, with what waits on it."""

import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.console.context import Context, Shared, context_of
from bucketcast.console.pages import command, page, render
from bucketcast.delivery.queue import Depth
from bucketcast.delivery.queue_names import dead_of
from bucketcast.deployment import Deployed, DeployedTarget
from bucketcast.deployment.health import Probe, health, probe, read_depth
from bucketcast.dynamic_targets.command.rows import Row, document, read_rows, remarks, state
from bucketcast.state.rules import Rules

SECONDS: Final = 2.0
_PROBE_SECONDS: Final = 30.0
_RATE_SECONDS: Final = 120.0
"""Functions on AWS count in steps of a minute."""
_AT_ONCE: Final = 16


@dataclass(frozen=True, slots=True)
class Overview:
    """What a page shows: lengths of the ingress queue, sources with rules, and targets.

    `rates` are events a minute by ARN; `sources` are numbers of rules and transports by bucket,
    `rules` numbers of rules by ARN.
    """

    waiting: Depth | None
    dead: Depth | None
    rows: Sequence[Row]
    rates: Mapping[str, float]
    sources: Mapping[str, tuple[int, str]]
    rules: Mapping[str, int]

    def entries(self) -> list[dict[str, Any]]:
        """Return each target as `target ls --json` has it, and what the table adds."""
        now = round(time.time() * 1_000)
        return [
            document(row)
            | {
                "name": row.target.name,
                "state": state(row),
                "remarks": remarks(row, now),
                "oldest_ms": row.oldest,
                "rate": self.rates.get(row.target.arn, 0.0),
                "rules": self.rules.get(row.target.arn, 0),
            }
            for row in self.rows
        ]


class Watch:
    """Reads the overview for all browsers, at most once in `SECONDS`.

    Probes take long if a target does not answer, so they run beside the rest.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._slow = ThreadPoolExecutor(1)
        self._running: Future[None] | None = None
        self._probed_at = self._found_at = float("-inf")
        self._probes: Mapping[str, Probe] = {}
        self._rules: Counter[str] = Counter()
        self._buckets: Counter[str] = Counter()
        self._broken: list[str] = []
        self._sent: dict[str, deque[tuple[float, int]]] = {}
        self._overview = Shared(self._read, SECONDS / 2)

    def read(self) -> Overview:
        """Return the overview of this moment.

        Raises:
            AwsError: AWS cannot be reached.
        """
        return self._overview.get()

    def probe(self, target: DeployedTarget) -> Probe:
        """Return what a target's last probe found, or probe it if that is not recent."""
        recent = time.monotonic() - self._found_at < 2 * _PROBE_SECONDS
        known = self._probes.get(target.arn) if recent else None
        return known or probe(target, self._context.aws)

    def _read(self) -> Overview:
        now = time.monotonic()
        deployment, aws = self._context.deployed, self._context.aws
        if (self._running is None or self._running.done()) and (
            now - self._probed_at >= _PROBE_SECONDS
        ):
            self._probed_at = now
            self._running = self._slow.submit(self._probe, deployment, aws)
        if self._running and self._running.done():
            self._running.result()
        targets = (*deployment.targets, *deployment.inactive)
        probes = [self._probes.get(target.arn, Probe()) for target in targets]
        rows, _ = read_rows(targets, health(targets, aws, probes), deployment.state_table, aws)
        broken = [row.target.arn for row in rows if row.outage and row.outage.since]
        if broken != self._broken:
            self._broken, self._probed_at = broken, float("-inf")  # the next round probes
        return Overview(
            read_depth(deployment.ingress_queue, aws)[0],
            read_depth(dead_of(deployment.ingress_queue), aws)[0],
            rows,
            {row.target.arn: self._rate(row, now) for row in rows},
            {
                bucket: (self._buckets[bucket], deployment.buckets.get(bucket, ""))
                for bucket in sorted({*deployment.buckets, *self._buckets})
            },
            self._rules,
        )

    def _probe(self, deployment: Deployed, aws: Aws) -> None:
        with aws_errors():
            rules = Rules(deployment.state_table, aws.dynamodb)
            found = [rule for bucket in rules.buckets() for rule in rules.of(bucket)]
        self._rules = Counter(rule.arn for rule in found)
        self._buckets = Counter(rule.bucket for rule in found)
        targets = (*deployment.targets, *deployment.inactive)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            probes = pool.map(lambda target: probe(target, aws), targets)
            self._probes = {
                target.arn: probed for target, probed in zip(targets, probes, strict=True)
            }
        self._found_at = time.monotonic()

    def _rate(self, row: Row, now: float) -> float:
        samples = self._sent.setdefault(row.target.arn, deque())
        samples.append((now, row.events.sent))
        while samples[0][0] < now - _RATE_SECONDS:
            samples.popleft()
        began, sent = samples[0]
        return 60 * max(0, row.events.sent - sent) / (now - began) if now > began else 0.0


def show(request: Request) -> Response:
    return page(
        request,
        "flow.html",
        live="/live/flow",
        command=command(request, "target", "ls"),
        overview=watch_of(request).read(),
    )


async def live(request: Request) -> Response:
    watch = watch_of(request)
    return context_of(request).feeds.stream(
        request.url.path, lambda: render("flow_parts.html", overview=watch.read()), SECONDS
    )


def watch_of(request: Request) -> Watch:
    watch: Watch = request.app.state.watch
    return watch
