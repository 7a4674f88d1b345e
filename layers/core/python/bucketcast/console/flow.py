"""The way of events, from buckets to targets, with what waits on it, and one target."""

import time
from collections import Counter, deque
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from bucketcast import deployment as deployed
from bucketcast.aws.clients import aws_errors
from bucketcast.console.answers import Answer
from bucketcast.console.context import Context, Shared, context_of
from bucketcast.console.pages import Link, command_line, page, render
from bucketcast.delivery.queue_names import dead_of
from bucketcast.deployment import DeployedTarget
from bucketcast.deployment.health import Probe, health, messages, probe
from bucketcast.deployment.status import Status, read_statuses
from bucketcast.display import redacted_url
from bucketcast.dynamic_targets.command import rows as targets_table
from bucketcast.dynamic_targets.command.rows import cells
from bucketcast.rules import Rule
from bucketcast.state.rules import Rules
from bucketcast.terminal import params
from bucketcast.terminal.output import counted
from bucketcast.terminal.remarks import remarks

SECONDS: Final = 2.0
_PROBE_SECONDS: Final = 30.0
_RATE_SECONDS: Final = 120.0
"""Functions on AWS count in steps of a minute."""
_AT_ONCE: Final = 16


class Watch:
    """Reads the overview for all browsers, at most once in `SECONDS`.

    Probes take long if a target does not answer, so they run beside the rest.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._probing = Shared(self._probe, _PROBE_SECONDS)
        self._probes: Mapping[str, Probe] = {}
        self._rules = Shared(self._read_rules, 5 * SECONDS)
        self._broken: list[str] = []
        self._sent: dict[str, deque[tuple[float, int]]] = {}
        self._overview = Shared(self._read, SECONDS / 2)

    def read(self) -> Mapping[str, Any]:
        """Return the sources, the rules with what waits for them, and the targets, for a page.

        Raises:
            AwsError: AWS cannot be reached.
        """
        return self._overview.get()

    def probe(self, target: DeployedTarget) -> Probe:
        """Return what a target's last probe found, or probe it if that is not recent."""
        probing = self._probing.begin()
        known = probing.result().get(target.arn) if probing.done() else None
        return known or probe(target, self._context.aws)

    def _read(self) -> Mapping[str, Any]:
        deployment, aws = self._context.deployed, self._context.aws
        rules = self._rules.get()
        probing = self._probing.begin()
        if probing.done():
            self._probes = probing.result()
        targets = deployment.all_targets
        probes = [self._probes.get(target.arn, Probe()) for target in targets]
        rows, _ = read_statuses(targets, health(targets, aws, probes), deployment.state_table, aws)
        broken = [row.target.arn for row in rows if row.outage and row.outage.since]
        if broken != self._broken:
            self._broken = broken
            self._probing.forget()
        connected = dict.fromkeys((rule.bucket for rule in rules), "") | {**deployment.buckets}
        by_bucket = Counter(rule.bucket for rule in rules)
        by_arn = Counter(rule.arn for rule in rules)
        queue = deployment.ingress_queue
        waiting, dead = (targets_table.count(messages(url, aws)) for url in (queue, dead_of(queue)))
        rates = [self._rate(row) for row in rows]
        ingress = [("waiting", waiting), ("dead", _letters("ingress", dead)), _sent(sum(rates))]
        return {
            "sources": [
                (bucket, " · ".join(filter(None, (counted(by_bucket[bucket], "rule"), via))))
                for bucket, via in sorted(connected.items())
            ],
            "rules": counted(len(rules), "rule"),
            "ingress": ingress,
            "targets": [
                _card(row, by_arn[row.target.arn], rate)
                for row, rate in zip(rows, rates, strict=True)
            ],
        }

    def _read_rules(self) -> list[Rule]:
        with aws_errors():
            return Rules(self._context.deployed.state_table, self._context.aws.dynamodb).all()

    def _probe(self) -> Mapping[str, Probe]:
        deployment, aws = self._context.deployed, self._context.aws
        targets = deployment.all_targets
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            probes = pool.map(lambda target: probe(target, aws), targets)
            return {target.arn: probed for target, probed in zip(targets, probes, strict=True)}

    def _rate(self, row: Status) -> float:
        """Return how many events a minute a target gets."""
        now = time.monotonic()
        samples = self._sent.setdefault(row.target.arn, deque())
        samples.append((now, row.events.sent))
        while samples[0][0] < now - _RATE_SECONDS:
            samples.popleft()
        began, sent = samples[0]
        return 60 * max(0, row.events.sent - sent) / (now - began) if now > began else 0.0


def _card(row: Status, rules: int, rate: float) -> Mapping[str, Any]:
    """Return what is shown of a target, with the cells of `target ls`."""
    now = round(time.time() * 1_000)
    name, word, waiting, dead, oldest, *_ = cells(row, now)
    figures = [("rules", f"{rules:,}"), _sent(rate), ("waiting", waiting), ("oldest", oldest)]
    return {
        "name": name,
        "state": word,
        "shown": "being checked" if word == "probing" else word,
        "figures": [*figures, ("dead", _letters(name, dead))],
        "remarks": remarks(row, now) if word != "online" else "",
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
        **_watch(request).read(),
    )


async def live(request: Request) -> Response:
    watch = _watch(request)
    return context_of(request).feeds.stream(
        request.url.path, lambda: render("flow_parts.html", **watch.read()), SECONDS
    )


def read_states(request: Request) -> dict[str, str]:
    """Return the state of each target and persistent topic that the flow shows, by its name."""
    return {card["name"]: card["shown"] for card in _watch(request).read()["targets"]}


def show_target(request: Request) -> Response:
    context = context_of(request)
    target = context.deployed.target(params.target_or_topic(request.path_params["name"]))
    reports = health([target], context.aws, [_watch(request).probe(target)])
    (row,), _ = read_statuses([target], reports, context.deployed.state_table, context.aws)
    now = round(time.time() * 1_000)
    figures = list(zip(targets_table.WIDE_COLUMNS, cells(row, now), strict=True))
    about = Answer(context=context, printed=[*filter(None, [remarks(row, now)])])
    settings = Answer(context=context, heading="Settings")
    configured = [
        (name, redacted_url(value) if "://" in value else value)
        for name, value in sorted(deployed.settings(target, context.aws).items())
        if value
    ]
    settings.table({}, ("SETTING", "VALUE"), [*figures[-2:], *configured], "none")
    change = "resume" if row.condition.state == "paused" else "pause"
    actions = [(change.capitalize(), "target", change), ("Send a test event", "test")]
    query = urlencode({"target": target.name})
    return page(
        request,
        target.name,
        state=row.condition.state,
        back=("Flow", "/"),
        command=command_line(request, "target", "ls", "--wide"),
        figures=figures[2:-2],
        buttons=[
            (words[-1], title, {"arn": target.name}, command_line(request, *words, target.name))
            for title, *words in actions
        ],
        links=[
            ("Its events", f"/events?{query}"),
            ("Its rules", f"/rules?{query}"),
            ("Its dead letters", f"/dead-letters?{query}"),
            *(_changes(target.name) if target.dynamic and not target.dynamic.topic else ()),
        ],
        sections=[about, settings],
    )


def _changes(name: str) -> list[Link]:
    """Return what can be done with a target that no deploy made."""
    arn = urlencode({"arn": name})
    return [
        ("Change its settings …", f"/changes/add-target?{arn}&merge=on"),
        ("Remove …", f"/changes/remove-target?{arn}"),
    ]


def _watch(request: Request) -> Watch:
    watch: Watch = request.app.state.watch
    return watch
