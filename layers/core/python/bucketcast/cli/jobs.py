"""Shared by `scan`, `backfill` and `reconcile`: a job's options, its start and its progress."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, TypeVar

import click

from bucketcast.arn import Arn
from bucketcast.aws import deployed, pipeline
from bucketcast.cli import page
from bucketcast.cli.output import Output
from bucketcast.errors import BucketcastError
from bucketcast.settings.jobs import GIVEN, JOBS
from bucketcast.settings.options import Option, options_of

F = TypeVar("F", bound=Callable[..., Any])
Says = Callable[[Mapping[str, Any]], None]

POLL_SECONDS: Final = 1.0


class JobFailedError(BucketcastError):
    """A run failed; the text is the job's own error and a link."""


class Finished(NamedTuple):
    """A successful run; `result` is None if it was not waited for."""

    run: str
    link: str
    result: Mapping[str, Any] | None


class _Text(click.ParamType[str]):
    """A job's option: text, checked as the job will check it."""

    def __init__(self, known: Option) -> None:
        self.name = known.type
        self._known = known

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            if value:  # empty counts as unset
                self._known.parse(value)
        except ValueError as error:
            self.fail(f"found '{value}'; allowed is {error}", param, ctx)
        return value


def options(job: str, *, but: frozenset[str] = frozenset()) -> Callable[[F], F]:
    """Add to a command the options of a job that the deployment does not set."""
    declared: Any = JOBS[job]
    given = {
        key: known
        for key, known in options_of(declared).items()
        if key not in GIVEN | but | {"bucket"}
    }

    def give(command: F) -> F:
        for key, known in reversed(given.items()):
            command = click.option(
                f"--{key.replace('_', '-')}",
                key,
                type=_Text(known),
                default="",
                metavar=known.type.upper(),
                help=f"{page.sentence(known)[0].upper()}{page.sentence(known)[1:]}.",
            )(command)
        return command

    return give


def deployed_target(there: deployed.Deployed, arn: Arn) -> deployed.DeployedTarget:
    """Return the deployed target with this ARN.

    Raises:
        NoSuchTargetError: it does not exist.
        JobFailedError: it is a run-time target.
    """
    found = there.target(arn)
    if found.made:
        raise JobFailedError(
            f"{found.arn} is a run-time target, and jobs support deployed targets only: add it to "
            "bucketcast.toml and deploy"
        )
    return found


def waiting(command: F) -> F:
    """Add `--no-wait` to a command."""
    return click.option(
        "--no-wait", is_flag=True, help="Start the run, print its link and return."
    )(command)


def finish(
    out: Output, runs: pipeline.Runs, job: str, values: Mapping[str, str], **how: Any
) -> Finished:
    """Start a run and wait for it, unless `no_wait`; `resume` is an earlier run's id.

    Raises:
        JobFailedError: the run failed.
        NoRunError: there is no run to resume.
        AwsError: an AWS call failed.
    """
    no_wait, resume = bool(how.get("no_wait")), str(how.get("resume") or "")
    runs.require(values["bucket"])
    run = resume or pipeline.new_id()
    if resume:
        runs.require_run(job, run)
        runs.forget(job, run)
    started = runs.start(job, run, values, detached=no_wait)
    out.note(f"run {run}: {started.link}")
    if no_wait:
        return Finished(run, started.link, None)
    with _shown(out) as says:
        ended = _followed(runs, job, run, started, says)
    result = runs.says(job, run, "result.json") or {}
    if ended.why or result.get("status") != "success":
        why = result.get("error") or ended.why or "it wrote no result"
        raise JobFailedError(f"{job} failed: {why}\nrun {run}: {started.link}")
    started.ended_well()
    document = {key: value for key, value in result.items() if key != "status"}
    return Finished(run, started.link, document)


def answer_started(out: Output, finished: Finished) -> None:
    """Print the id and link of a run that is not waited for."""
    out.answer({"run": finished.run, "link": finished.link}, f"Started {finished.run}")


def part(out: Output, shown: int, total: int, what: str) -> None:
    """Say that a table is truncated."""
    if shown < total and not out.json:
        out.line(f"showing {shown:,} of {total:,} {what}; the report has them all")


def _followed(
    runs: pipeline.Runs, job: str, run: str, started: pipeline.StartedRun, says: Says
) -> pipeline.RunResult:
    while (ended := started.ended()) is None:
        if progress := runs.says(job, run, "progress.json"):
            says(progress)
        time.sleep(POLL_SECONDS)
    return ended


@contextmanager
def _shown(out: Output) -> Iterator[Says]:
    """Show a progress bar on a terminal, a line per change when piped, nothing with `--json`."""
    if out.json:
        yield lambda _: None
    elif sys.stderr.isatty():
        yield from _bar()
    else:
        yield _Lines(out)


class _Lines:
    """Progress, one line per change."""

    def __init__(self, out: Output) -> None:
        self._screen = out
        self._last = ""

    def __call__(self, said: Mapping[str, Any]) -> None:
        line = str(said["stage"])
        if said["total"]:
            line += f": {said['done']:,} of {said['total']:,} {said['unit']}"
        if line != self._last:
            self._last = line
            self._screen.note(f"  {line}")


def _bar() -> Iterator[Says]:
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import (  # noqa: PLC0415 - as above
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[unit]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("waiting for the job", total=None, unit="")

        def says(said: Mapping[str, Any]) -> None:
            shown.update(
                task,
                description=said["stage"],
                completed=said["done"],
                total=said["total"] or None,
                unit=said["unit"],
            )

        yield says
