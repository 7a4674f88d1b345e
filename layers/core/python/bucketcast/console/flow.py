"""The way of events, from buckets to targets, with what waits on it."""

import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import groupby
from typing import Any, Final

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from bucketcast.aws.clients import aws_errors
from bucketcast.console.charts import LOOK_SECONDS, History
from bucketcast.console.context import Context, Shared
from bucketcast.console.pages import command_line, page, render, stream
from bucketcast.delivery.queue_names import dead_of
from bucketcast.deployment import DeployedTarget
from bucketcast.deployment.health import Health, messages, probe, probe_all
from bucketcast.deployment.status import Status, read_statuses
from bucketcast.dynamic_targets.command import rows as targets_table
from bucketcast.dynamic_targets.command.rows import cells
from bucketcast.errors import BucketcastError
from bucketcast.notifications.aws.checks import why_not_heard
from bucketcast.rules import Rule
from bucketcast.state.rules import Rules
from bucketcast.terminal.output import counted
from bucketcast.terminal.remarks import remarks

SECONDS: Final = 2.0
_PROBE_SECONDS: Final = 30.0
_AT_ONCE: Final = 16


class Watch:
    """Reads the overview for all browsers, at most once in `SECONDS`.

    Probes take long if a target does not answer, so they run beside the rest.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._probing = Shared(self._probe, _PROBE_SECONDS)
        self._probes: Mapping[str, Health] = {}
        self._rules = Shared(self._read_rules, 5 * SECONDS)
        self._broken: list[str] = []
        self.history = History()
        self.overview = Shared(self._read, SECONDS / 2)
        """The sources, the rules with what waits for them, and the targets, for a page."""

    def follow(self) -> None:
        """Read it now and then for ever, for the charts of a stack without metrics."""
        while True:
            with suppress(BucketcastError):
                self.overview.get()
            time.sleep(LOOK_SECONDS)

    def probe(self, target: DeployedTarget) -> Health:
        """Return what a target's last probe found, or probe it if that is not recent."""
        probing = self._probing.begin()
        known = probing.result().get(target.arn) if probing.done() else None
        return known or probe(target, self._context.aws)

    def _read(self) -> Mapping[str, Any]:
        deployment, aws = self._context.deployed, self._context.aws
        rules, unheard = self._rules.get()
        probing = self._probing.begin()
        if probing.done():
            self._probes = probing.result()
        targets = deployment.all_targets
        probes = [self._probes.get(target.arn, Health()) for target in targets]
        rows, _ = read_statuses(targets, probes, deployment.state_table, aws)
        for row in rows:
            self.history.add(row)
        broken = [row.target.arn for row in rows if row.outage and row.outage.since]
        if broken != self._broken:
            self._broken = broken
            self._probing.forget()
        connected = {**unheard, **deployment.buckets}
        by_bucket = Counter(rule.bucket for rule in rules)
        by_arn = Counter(rule.arn for rule in rules)
        queue = deployment.ingress_queue
        waiting, dead = (targets_table.count(messages(url, aws)) for url in (queue, dead_of(queue)))
        rates = [self.history.rate(row) for row in rows]
        ingress = [("waiting", waiting), ("dead", _letters("ingress", dead)), _sent(sum(rates))]
        return {
            "sources": [
                (
                    bucket,
                    Markup(" · ").join(filter(None, (counted(by_bucket[bucket], "rule"), via))),
                )
                for bucket, via in sorted(connected.items())
            ],
            "rules": counted(len(rules), "rule"),
            "ingress": ingress,
            "targets": [
                _card(row, by_arn[row.target.arn], rate)
                for row, rate in zip(rows, rates, strict=True)
            ],
        }

    def _read_rules(self) -> tuple[list[Rule], dict[str, Markup]]:
        """Return the rules, and their buckets that no deploy connected, with what is wrong."""
        deployment, aws = self._context.deployed, self._context.aws
        with aws_errors():
            rules = Rules(deployment.state_table, aws.dynamodb).active()
        asked = {name: list(each) for name, each in groupby(rules, lambda rule: rule.bucket)}
        buckets = sorted(asked.keys() - deployment.buckets.keys())
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            reasons = pool.map(lambda name: why_not_heard(asked[name], deployment, aws), buckets)
            shown = Markup('<span class="state offline">{}</span>')
            unheard = [shown.format(reason) if reason else Markup() for reason in reasons]
        return rules, dict(zip(buckets, unheard, strict=True))

    def _probe(self) -> Mapping[str, Health]:
        targets = self._context.deployed.all_targets
        probes = probe_all(targets, self._context.aws)
        return {target.arn: probed for target, probed in zip(targets, probes, strict=True)}


def _card(row: Status, rules: int, rate: float) -> Mapping[str, Any]:
    """Return what is shown of a target, with the cells of `target ls`."""
    now = round(time.time() * 1_000)
    name, word, waiting, dead, oldest, *_ = cells(row, now)
    last = row.last
    taken = f"{last.taken / last.tried:.0%}" if last.tried else "-"
    figures = [("rules", f"{rules:,}"), _sent(rate), ("taken", taken), ("waiting", waiting)]
    return {
        "name": name,
        "state": word,
        "shown": "being checked" if word == "probing" else word,
        "figures": [*figures, ("oldest", oldest), ("dead", _letters(name, dead))],
        "remarks": remarks(row, now),
        "rate": rate,
    }


def _sent(rate: float) -> tuple[str, str]:
    return "sent", f"{rate:,.0f}/min"


def _letters(target: str, dead: str) -> str:
    """Return the number of dead letters, with a link to them if there are some."""
    link = Markup('<a href="/dead-letters?target={}">{}</a>')
    return dead if dead in ("0", "?") else link.format(target, dead)


def show(request: Request) -> Response:
    return page(
        request,
        "Flow",
        template="flow.html",
        live="/live/flow",
        command=command_line(request, "target", "ls"),
        links=[("Add a target …", "/changes/add-target")],
        **watch_of(request).overview.get(),
    )


async def live(request: Request) -> Response:
    overview = watch_of(request).overview
    return stream(lambda: render("flow_parts.html", **overview.get()), SECONDS)


def watch_of(request: Request) -> Watch:
    watch: Watch = request.app.state.watch
    return watch
