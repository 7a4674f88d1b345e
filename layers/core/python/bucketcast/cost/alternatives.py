"""What would cost less: the same estimate, with a change of the configuration."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from bucketcast.config import Deployment
from bucketcast.cost.estimate import Load, estimate
from bucketcast.settings.options import Csv, WholeSeconds, on_off

_SLOWER = (
    'profile = "throughput" for all targets: events are gathered for up to 1 s at ingest and at '
    "each target"
)
_LEAST = 0.005
"""Dollars a month below which nothing is worth a line."""


class Alternative(NamedTuple):
    """A change, and the dollars a month that it saves."""

    change: str
    saves: float


def alternatives(config: Deployment, load: Load) -> list[Alternative]:
    """Return what would cost less, the largest saving first."""
    now = estimate(config, load).total()
    found = [
        Alternative(change, now - estimate(other, load).total())
        for change, other in _changes(config)
    ]
    return sorted((each for each in found if each.saves > _LEAST), key=lambda each: -each.saves)


def _changes(config: Deployment) -> Iterator[tuple[str, Deployment]]:
    slow = [
        replace(each, deploy=replace(each.deploy, profile="throughput")) for each in config.targets
    ]
    yield _SLOWER, replace(config, targets=tuple(slow))
    if not config.ingest_window:
        yield (
            '[ingest] window = "1s": ingest gathers events for up to 1 s',
            replace(config, ingest=replace(config.ingest, window=WholeSeconds(1))),
        )
    by_queue = {name: replace(each, via="sqs") for name, each in config.buckets.items()}
    yield 'via = "sqs" for all buckets', replace(config, buckets=by_queue)
    if config.pipeline:
        flex = replace(config.pipeline, execution_class="flex")
        yield (
            'execution_class = "flex" for the jobs: they may start late',
            replace(config, pipeline=flex),
        )
    none = replace(config.runtime, kinds=Csv(()))
    yield '[runtime] kinds = "off": no run-time targets', replace(config, runtime=none)
    yield 'dashboard = "off"', replace(config, dashboard=on_off("off"))
