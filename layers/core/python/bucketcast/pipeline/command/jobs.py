"""Shared by `scan`, `backfill` and `reconcile`: a job's options, its start and its result."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import click

from bucketcast import deployment as deployed
from bucketcast.destination import TargetArn
from bucketcast.errors import BucketcastError
from bucketcast.pipeline import aws as pipeline
from bucketcast.settings.options import Option, options_of
from bucketcast.settings.pipeline import GIVEN, JOBS
from bucketcast.terminal import page
from bucketcast.terminal.output import Output
from bucketcast.terminal.progress import Report, progress

F = TypeVar("F", bound=Callable[..., Any])

POLL_SECONDS: Final = 1.0


class _Text(click.ParamType[str]):
    """A job's option: text, checked as the job will check it."""

    def __init__(self, option: Option) -> None:
        self.name = option.type
        self._option = option

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            if value:  # empty counts as unset
                self._option.parse(value)
        except ValueError as error:
            self.fail(f"found '{value}'; allowed is {error}", param, ctx)
        return value


def options(job: str, *, but: frozenset[str] = frozenset()) -> Callable[[F], F]:
    """Add to a command the options of a job that the deployment does not set."""
    declared: Any = JOBS[job]
    given = {
        key: option
        for key, option in options_of(declared).items()
        if key not in GIVEN | but | {"bucket"}
    }

    def give(command: F) -> F:
        for key, option in reversed(given.items()):
            command = click.option(
                f"--{key.replace('_', '-')}",
                key,
                type=_Text(option),
                default="",
                metavar=option.type.upper(),
                help=f"{page.sentence(option)[0].upper()}{page.sentence(option)[1:]}.",
            )(command)
        return command

    return give


def deployed_target(deployment: deployed.Deployed, arn: TargetArn) -> deployed.DeployedTarget:
    """Return the deployed target with this ARN.

    Raises:
        BucketcastError: it does not exist, or is a dynamic target.
    """
    found = deployment.target(arn)
    if found.made:
        raise BucketcastError(
            f"{found.arn} is a dynamic target, and jobs support deployed targets only: add it to "
            "bucketcast.toml and deploy"
        )
    return found


def waiting(command: F) -> F:
    """Add `--no-wait` to a command."""
    return click.option(
        "--no-wait", is_flag=True, help="Start the run, print its link and return."
    )(command)


def finish(
    out: Output,
    runs: pipeline.Runs,
    job: str,
    values: Mapping[str, str],
    *,
    no_wait: bool,
    resume: str | None = None,
) -> Mapping[str, Any] | None:
    """Start a run, or continue the one to `resume`, and return its result with its id and link.

    With `no_wait` id and link are printed instead, and there is no result.

    Raises:
        BucketcastError: the run failed, or there is no run to resume.
        AwsError: an AWS call failed.
    """
    runs.require(values["bucket"])
    run = resume or pipeline.new_id()
    if resume:
        runs.require_run(job, run)
        runs.forget(job, run)
    started = runs.start(job, run, values, detached=no_wait)
    out.note(f"run {run}: {started.link}")
    if no_wait:
        out.answer({"run": run, "link": started.link}, f"Started {run}")
        return None
    with progress(out, "waiting for the job") as report:
        ended = _followed(runs, job, run, started, report)
    result = runs.says(job, run, "result.json") or {}
    if ended.why or result.get("status") != "success":
        why = result.get("error") or ended.why or "it wrote no result"
        raise BucketcastError(f"{job} failed: {why}\nrun {run}: {started.link}")
    started.ended_well()
    document = {key: value for key, value in result.items() if key != "status"}
    return {"run": run, "link": started.link, **document}


def part(out: Output, shown: int, total: int, what: str) -> None:
    """Say that a table is truncated."""
    if shown < total and not out.json:
        out.line(f"showing {shown:,} of {total:,} {what}; the report has them all")


def _followed(
    runs: pipeline.Runs, job: str, run: str, started: pipeline.StartedRun, report: Report
) -> pipeline.RunResult:
    while (ended := started.ended()) is None:
        if found := runs.says(job, run, "progress.json"):
            report(found["stage"], found["done"], found["total"], found["unit"])
        time.sleep(POLL_SECONDS)
    return ended
