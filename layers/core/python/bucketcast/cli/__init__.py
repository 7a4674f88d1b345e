"""The `bucketcast` command.

Exit codes: 0 done, 1 failed, 2 misuse. With `--json` standard output holds exactly one document,
also when the command fails: `{"status": "error", "error": "…"}`. Notes and errors for people go to
standard error.
"""

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from keyword import iskeyword
from typing import Final

import click

from bucketcast.cli.screen import Screen, shared
from bucketcast.errors import BucketcastError, ConfigErrors, did_you_mean
from bucketcast.store.access import Aws

DONE: Final = 0
FAILED: Final = 1
MISUSE: Final = 2

# Imported when wanted, so that `--help` is quick; the line is what `bucketcast --help` shows.
_COMMANDS: Final = {
    "attach": "Let the events of a bucket that is there come, without a deploy.",
    "backfill": "Send what a bucket holds already to a target.",
    "config": "Check bucketcast.toml and show what it amounts to.",
    "detach": "Let a bucket's events come no more.",
    "event": "Rules: which events of a bucket go to which target.",
    "explain": "Why an event goes where it goes, and what would be sent.",
    "gateway": "One address for mc, minio-py and boto3: S3, notifications, topics.",
    "import": "Take over what MinIO or Ceph is configured with.",
    "listen": "A bucket's events as they happen.",
    "notification": "Notifications: which events of a bucket go to which topic.",
    "reconcile": "Compare a mirror with its bucket, and mend it.",
    "scan": "Find what in a bucket asks for attention: versions, folders.",
    "stats": "How many events went to each target, and how many did not.",
    "status": "Which buckets' events come, and what else their notifications hold.",
    "trace": "Where an object's events went.",
    "target": "Targets: how they fare; made and removed without a deploy.",
    "topic": "Topics that users made: who has which, and what waits for them.",
    "user": "Users of the gateway, and their keys.",
}


class _Commands(click.Group):
    """The commands, one module each."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module = cmd_name + "_" * iskeyword(cmd_name)
        command: click.Command = import_module(f"bucketcast.cli.{module}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in _COMMANDS and not args[0].startswith("-"):
            near = did_you_mean(args[0], _COMMANDS)
            ctx.fail(f"unknown command '{args[0]}': {near}there are {', '.join(_COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="bucketcast", message="bucketcast %(version)s")
@shared
def bucketcast() -> None:
    """The bucket notifications of MinIO and Ceph RGW for Amazon S3.

    \b
    The deployment is found by its stack, with the ordinary AWS environment:
    AWS_PROFILE, AWS_REGION and so on. For the local AWS of `make up`:
      set -a; . .local/env; set +a

    \b
    Example: every JPEG that is put into or deleted from the bucket uploads
      bucketcast event add uploads arn:minio:sqs::primary:webhook \\
        --event put,delete --suffix .jpg
      bucketcast target ls
    """  # noqa: D301 - click reads the character


def main(arguments: Sequence[str] | None = None, *, aws: Callable[..., Aws] = Aws) -> int:
    """Run the command line and return its exit code; what is expected leaves no traceback."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    screen = Screen(json="--json" in given, aws=aws)
    try:
        code = bucketcast.main(given, prog_name="bucketcast", obj=screen, standalone_mode=False)
    except click.exceptions.Exit as wanted:
        return int(wanted.exit_code)
    except (click.UsageError, ConfigErrors) as error:
        _misused(screen, error)
        return MISUSE
    except (BucketcastError, click.ClickException) as error:
        screen.failed(str(error))
        return FAILED
    except (click.Abort, KeyboardInterrupt):
        screen.failed("interrupted")
        return FAILED
    except BrokenPipeError:
        # Who read our output has gone; Python would complain once more while it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return code or DONE  # a command that ended by itself says how


def _misused(screen: Screen, error: click.UsageError | ConfigErrors) -> None:
    if isinstance(error, ConfigErrors):
        screen.misconfigured(error)
    elif isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
    else:
        how = error.ctx.command_path if error.ctx else "bucketcast"
        screen.failed(error.format_message(), f"`{how} --help` says how")
