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
from bucketcast.errors import BucketcastError, ConfigErrors, NoAnswer
from bucketcast.terminal import usage
from bucketcast.terminal.output import Output, output_options

DONE: Final = 0
FAILED: Final = 1
MISUSE: Final = 2
NO_ANSWER: Final = 3

# Modules are imported on use to keep `--help` quick; the text is shown by `bucketcast --help`.
GROUPS: Final = {
    "Rules and buckets": {
        "event": ("notifications.command.event", "Add, list, apply and remove rules."),
        "bucket": ("notifications.command.bucket", "Connect, disconnect and list buckets."),
        "listen": ("listen.command", "Show a bucket's events as they happen."),
    },
    "Targets": {
        "target": ("dynamic_targets.command", "List, pause, resume, add and remove targets."),
        "dlq": ("dlq.command", "List, show, redrive, export and purge dead letters."),
        "send": ("diagnose.command.send", "Send one target an event again, past its rules."),
    },
    "Find faults": {
        "doctor": ("diagnose.command.doctor", "Find what is wrong, and what to do."),
        "explain": ("diagnose.command.explain", "Show which rules match an event, and why."),
        "test": (
            "diagnose.command.test",
            "Send a synthetic event to one target, and show its way.",
        ),
        "trace": ("diagnose.command.trace", "Show where an object's events went."),
        "console": ("console.command", "Show events, targets, rules and buckets as web pages."),
    },
    "Whole buckets": {
        "scan": ("pipeline.command.scan", "Tell what a bucket holds, and what is conspicuous."),
        "backfill": ("pipeline.command.backfill", "Send existing objects to a target."),
        "reconcile": ("pipeline.command.reconcile", "Compare a mirror with its bucket."),
    },
    "Gateway": {
        "gateway": ("gateway.command", "Serve S3, notifications and topics for mc and the SDKs."),
        "user": ("users.command", "Manage the gateway's users and their keys."),
        "topic": ("topics.command", "List and remove topics; show their backlog."),
        "notification": ("notifications.command.notification", "Which events go to which topic."),
    },
    "Before a deploy": {
        "config": ("config.command", "Check bucketcast.toml, and show what is in effect."),
        "cost": ("cost.command", "Estimate what a deployment costs."),
        "import": ("migrate.command", "Import the configuration of MinIO."),
    },
}
_MODULES: Final = {
    name: module for commands in GROUPS.values() for name, (module, _) in commands.items()
}


class _Commands(click.Group):
    """The commands of all features."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _MODULES:
            return None
        command: click.Command = import_module(f"bucketcast.{_MODULES[cmd_name]}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        width = max(map(len, _MODULES))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(name.ljust(width), text) for name, (_, text) in commands.items()]
                )


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
    if isinstance(error, ConfigErrors) and out.json:
        out.fail(str(error), "configuration", errors=[vars(each) for each in error.errors])
    elif isinstance(error, ConfigErrors):
        for each in error.errors:
            out.note(str(each))
    elif isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
    else:
        command = error.ctx.command_path if error.ctx else "bucketcast"
        hint = f"see `{command} --help`"
        field = usage.field_of(error)
        where = {"field": field} if field else {}
        out.fail(usage.text_of(error), "misuse", hint=hint, **where)
