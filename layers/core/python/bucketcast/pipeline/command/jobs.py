"""A job as `scan`, `backfill` and `reconcile` run it: its options, its start and its result."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import click

from bucketcast.errors import NoAnswer
from bucketcast.pipeline import aws as pipeline
from bucketcast.settings.options import Option, options_of
from bucketcast.settings.pipeline import DEPLOYED, JOBS
from bucketcast.settings.types import TYPES, Csv
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, Report, progress

F = TypeVar("F", bound=Callable[..., Any])

POLL_SECONDS: Final = 1.0


class _OptionText(click.ParamType[str]):
    """The text of a job's option, checked as the job will check it."""

    def __init__(self, option: Option) -> None:
        self.name = option.type
        self._option = option

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            parsed = self._option.parse(value) if value else value  # empty counts as unset
        except ValueError as error:
            self.fail(f"found '{value}'; allowed is {error}", param, ctx)
        return parsed if isinstance(parsed, str) else value  # a word as it is spelled


def options(job: str, *, without: frozenset[str] = frozenset()) -> Callable[[F], F]:
    """Add to a command the options of a job that the deployment does not set."""
    declared: Any = JOBS[job]
    offered = {
        key: option
        for key, option in options_of(declared).items()
        if key not in DEPLOYED | without | {"bucket"}
    }

    def add_options(command: F) -> F:
        for key, option in reversed(offered.items()):
            several = option.type == TYPES[Csv][0]
            command = click.option(
                f"--{key.replace('_', '-')}",
                key,
                type=_OptionText(option),
                multiple=several,
                callback=params.joined(str) if several else None,
                default=[""] if several else "",
                metavar=option.type.upper(),
                help=f"{option.sentence[0].upper()}{option.sentence[1:]}.",
            )(command)
        return command

    return add_options


def no_wait_option(command: F) -> F:
    """Add `--no-wait` to a command."""
    return click.option(
        "--no-wait", is_flag=True, help="Start the run, print its link and return."
    )(command)


def run_job(
    out: Output,
    runs: pipeline.Runs,
    job: str,
    values: Mapping[str, str],
    *,
    no_wait: bool,
    run: str = "",
) -> Mapping[str, Any] | None:
    """Start a run, a new one unless its id is given, and return its result with id and link.

    With `no_wait` print id and link instead, and return None.

    Raises:
        NoAnswer: the run failed.
        BotoCoreError, ClientError: an AWS call failed.
    """
    runs.require_bucket(values["bucket"])
    run = run or pipeline.new_id()
    started = runs.start(job, run, values, detached=no_wait)
    out.note(f"run {run}: {started.link}")
    if no_wait:
        out.answer({"run": run, "link": started.link}, f"Started {run}")
        return None
    error = _follow(runs, job, run, started, progress(out, "waiting for the job"))
    result = runs.read(job, run, "result.json") or {}
    if error or result.get("status") != "success":
        reason = result.get("error") or error or "it wrote no result"
        raise NoAnswer(f"{job} failed: {reason}\nrun {run}: {started.link}")
    started.remove_log()
    document = {key: value for key, value in result.items() if key != "status"}
    return {"run": run, "link": started.link, **document}


def note_truncation(out: Output, shown: int, total: int, noun: str) -> None:
    """Print that a table is truncated, if it is."""
    if shown < total and not out.json:
        out.line(f"showing {shown:,} of {total:,} {noun}; the report has them all")


def _follow(
    runs: pipeline.Runs, job: str, run: str, started: pipeline.StartedRun, report: Report
) -> str:
    while (error := started.poll()) is None:
        if latest := runs.read(job, run, "progress.json"):
            report(latest["stage"], latest["done"], latest["total"], latest["unit"])
        time.sleep(POLL_SECONDS)
    return error
