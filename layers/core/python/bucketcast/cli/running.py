"""What `scan`, `backfill` and `reconcile` share: a job's options, its start, and following it."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, TypeVar

import click

from bucketcast.arn import Arn
from bucketcast.cli import page
from bucketcast.cli.screen import Screen
from bucketcast.errors import BucketcastError
from bucketcast.jobs import GIVEN, JOBS
from bucketcast.options import Option, options_of
from bucketcast.store import deployed, pipeline

F = TypeVar("F", bound=Callable[..., Any])
Says = Callable[[Mapping[str, Any]], None]

POLL_SECONDS: Final = 1.0


class JobFailedError(BucketcastError):
    """A run failed; the text is the job's own, and where to see more."""


class Finished(NamedTuple):
    """A run that ended well, or goes on where nobody waits for it: then `result` is None."""

    run: str
    link: str
    result: Mapping[str, Any] | None


class _Text(click.ParamType[str]):
    """A value as a job takes it: text, checked as the job will."""

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
    """Give a command the options of a job that the deployment does not fill in."""
    declared: Any = JOBS[job]
    asked = {
        key: known
        for key, known in options_of(declared).items()
        if key not in GIVEN | but | {"bucket"}
    }

    def give(command: F) -> F:
        for key, known in reversed(asked.items()):
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
    """The target of an ARN, whose queue and settings a job knows by the deploy.

    Raises:
        NoSuchTargetError: there is none.
        JobFailedError: it was made at run time.
    """
    found = there.target(arn)
    if found.made:
        raise JobFailedError(
            f"{found.arn} was made at run time, and jobs know the targets of the deploy only: put "
            "it into bucketcast.toml and deploy"
        )
    return found


def waiting(command: F) -> F:
    """Give a command `--no-wait`."""
    return click.option("--no-wait", is_flag=True, help="Start the run, say where it is, and end.")(
        command
    )


def finish(
    screen: Screen, runs: pipeline.Runs, job: str, values: Mapping[str, str], **how: Any
) -> Finished:
    """Start a run and follow it to its end, unless `no_wait`; `resume` is an earlier run's id.

    Raises:
        JobFailedError: it failed.
        NoRunError: there is nothing to resume.
        AwsError: AWS cannot be asked.
    """
    no_wait, resume = bool(how.get("no_wait")), str(how.get("resume") or "")
    runs.demand(values["bucket"])
    run = resume or pipeline.new_id()
    if resume:
        runs.demand_run(job, run)
        runs.forget(job, run)
    started = runs.start(job, run, values, detached=no_wait)
    if not screen.json:
        screen.note(f"run {run}: {started.link}")
    if no_wait:
        return Finished(run, started.link, None)
    with _shown(screen) as says:
        ended = _followed(runs, job, run, started, says)
    result = runs.says(job, run, "result.json") or {}
    if ended.why or result.get("status") != "success":
        why = result.get("error") or ended.why or "it left no result"
        raise JobFailedError(f"{job} failed: {why}\nrun {run}: {started.link}")
    started.ended_well()
    told = {key: value for key, value in result.items() if key != "status"}
    return Finished(run, started.link, told)


def answer_started(screen: Screen, finished: Finished) -> None:
    """What is said of a run that nobody waits for."""
    screen.answer({"run": finished.run, "link": finished.link}, f"Started {finished.run}")


def part(screen: Screen, shown: int, total: int, what: str) -> None:
    """That a table does not have all there is."""
    if shown < total and not screen.json:
        screen.line(f"shown are {shown:,} of {total:,} {what}, all are in the report")


def notes(screen: Screen, result: Mapping[str, Any]) -> None:
    """What else the job found worth saying."""
    if not screen.json:
        for note in result.get("notes", ()):
            screen.note(f"note: {note}")


def _followed(
    runs: pipeline.Runs, job: str, run: str, started: pipeline.Started, says: Says
) -> pipeline.Ended:
    while (ended := started.ended()) is None:
        if progress := runs.says(job, run, "progress.json"):
            says(progress)
        time.sleep(POLL_SECONDS)
    return ended


@contextmanager
def _shown(screen: Screen) -> Iterator[Says]:
    """A bar on a terminal, a line for each change where it is piped, nothing beside JSON."""
    if screen.json:
        yield lambda _: None
    elif sys.stderr.isatty():
        yield from _bar()
    else:
        yield _Lines(screen)


class _Lines:
    """What a run says, a line a change."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
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
