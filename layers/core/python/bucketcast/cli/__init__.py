"""The `bucketcast` command.

Exit codes: 0 done; 1 it failed, or found what it looks for; 2 misuse; 3 it could not look: AWS did
not answer or let it, there is no such deployment, or a job has no result. With `--json` standard
output holds exactly one document, also when the command fails:
`{"status": "error", "code": "misuse", "error": "…", "field": "…"}`. Notes and errors for people go
to standard error.
"""

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Final

import click

from bucketcast.aws.clients import Aws, AwsError
from bucketcast.errors import BucketcastError, ConfigErrors, NoAnswer, did_you_mean
from bucketcast.terminal.output import Output, output_options

DONE: Final = 0
FAILED: Final = 1
MISUSE: Final = 2
NO_ANSWER: Final = 3

# Modules are imported on use to keep `--help` quick; the text is shown by `bucketcast --help`.
_COMMANDS: Final = {
    "backfill": ("pipeline.command.backfill", "Send a bucket's existing objects to a target."),
    "bucket": (
        "notifications.command.bucket",
        "Connect and disconnect existing buckets; list connected ones.",
    ),
    "config": ("config.command", "Check bucketcast.toml and show the effective configuration."),
    "console": (
        "console.command",
        "Show events, dead letters, rules and buckets as web pages.",
    ),
    "cost": ("cost.command", "Estimate what a deployment costs."),
    "dlq": ("dlq.command", "List, show, redrive, export and purge dead letters."),
    "doctor": (
        "diagnose.command.doctor",
        "Find what is wrong with the deployment, and what to do.",
    ),
    "event": (
        "notifications.command.event",
        "Add, list and remove rules: which events go to which target.",
    ),
    "explain": (
        "diagnose.command.explain",
        "Show which rules match an event, why, and what would be sent.",
    ),
    "gateway": (
        "gateway.command",
        "Serve S3, notifications and topics at one address for mc and the SDKs.",
    ),
    "import": ("migrate.command", "Import the configuration of MinIO."),
    "listen": ("listen.command", "Show a bucket's events as they happen."),
    "notification": (
        "notifications.command.notification",
        "List and remove notifications: which events go to which topic.",
    ),
    "reconcile": ("pipeline.command.reconcile", "Compare a mirror with its bucket and repair it."),
    "scan": (
        "pipeline.command.scan",
        "Find objects with too many versions and prefixes with too many folders.",
    ),
    "target": (
        "dynamic_targets.command",
        "List targets and their health; pause them; add and remove dynamic targets.",
    ),
    "test": ("diagnose.command.test", "Send a synthetic event to one target, and show its way."),
    "topic": ("topics.command", "List and remove topics; show their backlog."),
    "trace": ("diagnose.command.trace", "Show where an object's events went."),
    "user": ("users.command", "Manage the gateway's users and their keys."),
}


class _Commands(click.Group):
    """The commands of all features."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module, _ = _COMMANDS[cmd_name]
        command: click.Command = import_module(f"bucketcast.{module}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in _COMMANDS and not args[0].startswith("-"):
            near = did_you_mean(args[0], _COMMANDS)
            ctx.fail(f"unknown command '{args[0]}': {near}commands are {', '.join(_COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="bucketcast", message="bucketcast %(version)s")
@output_options
def bucketcast() -> None:
    """Bucket notifications for Amazon S3, as MinIO and Ceph RGW have them.

    \b
    Commands find the deployment by its stack name and the usual AWS settings
    (AWS_PROFILE, AWS_REGION, ...). For the local AWS of `make up`, first run:
      set -a; . .local/env; set +a

    \b
    Example: send uploads and deletions of JPEGs in the bucket uploads
      bucketcast event add uploads webhook:primary --event put,delete --suffix .jpg
      bucketcast target ls
    """  # noqa: D301 - click reads the character


def main(arguments: Sequence[str] | None = None, *, aws: Callable[..., Aws] = Aws) -> int:
    """Run the command line and return its exit code; expected errors leave no traceback."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    out = Output(json="--json" in words, aws=aws)
    try:
        code = bucketcast.main(words, prog_name="bucketcast", obj=out, standalone_mode=False)
    except click.exceptions.Exit as wanted:
        return int(wanted.exit_code)
    except (click.UsageError, ConfigErrors) as error:
        _report_misuse(out, error)
        return MISUSE
    except (BucketcastError, click.ClickException) as error:
        unknown = isinstance(error, NoAnswer) or (isinstance(error, AwsError) and not error.code)
        out.fail(str(error), "no_answer" if unknown else "failed")
        return NO_ANSWER if unknown else FAILED
    except (click.Abort, KeyboardInterrupt):
        out.fail("interrupted", "interrupted")
        return FAILED
    except BrokenPipeError:
        # The reader of our output has closed it; Python would report that again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return code or DONE  # a command may return its own exit code


def _report_misuse(out: Output, error: click.UsageError | ConfigErrors) -> None:
    if isinstance(error, ConfigErrors):
        out.fail_configuration(error)
    elif isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
    else:
        command = error.ctx.command_path if error.ctx else "bucketcast"
        hint = f"see `{command} --help`"
        out.fail(error.format_message(), "misuse", field=_field(error), hint=hint)


def _field(error: click.UsageError) -> str:
    """Return the option or argument that is wrong, as it is typed; "" if it is not one alone."""
    if isinstance(error, click.NoSuchOption):
        return error.option_name
    if not isinstance(error, click.BadParameter):
        return ""
    if isinstance(error.param, click.Option):
        return max(error.param.opts, key=len)
    name = error.param.human_readable_name if error.param else str(error.param_hint or "")
    return name[1:-1] if name.startswith("[") else name  # an optional argument
