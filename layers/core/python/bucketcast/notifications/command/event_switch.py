"""`bucketcast event disable` and `enable`: switch rules off and on."""

from collections.abc import Sequence

import click
from msgspec.structs import replace

from bucketcast.errors import BucketcastError, ConfigErrors
from bucketcast.notifications.aws import checks
from bucketcast.rules import Rule, listing
from bucketcast.state.rules import Rules
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, shared

_bucket = click.argument("bucket", type=params.bucket_name)
_ids = click.argument("ids", metavar="ID...", nargs=-1, required=True)


@click.command()
@_bucket
@_ids
@shared
def disable(out: Output, bucket: str, ids: tuple[str, ...]) -> None:
    """Switch rules off; they stay, match nothing, and S3's API does not show them.

    \b
    Example:
      bucketcast event disable uploads 0123456789abcdef
    """  # noqa: D301 - click reads the character
    _switch(out, bucket, ids, disabled=True)


@click.command()
@_bucket
@_ids
@shared
def enable(out: Output, bucket: str, ids: tuple[str, ...]) -> None:
    """Switch rules on again; events meanwhile are not sent, see `bucketcast backfill`.

    \b
    Example:
      bucketcast event enable uploads 0123456789abcdef
    """  # noqa: D301 - click reads the character
    _switch(out, bucket, ids, disabled=False)


def _switch(out: Output, bucket: str, ids: Sequence[str], *, disabled: bool) -> None:
    def edit(stored: list[Rule]) -> list[Rule]:
        new = [
            replace(rule, disabled=False) for rule in chosen(stored, bucket, ids) if rule.disabled
        ]
        after = [replace(rule, disabled=disabled) if rule.id in ids else rule for rule in stored]
        errors = [] if disabled else list(checks.problems(new, after, parts, deployment, aws))
        if errors:
            raise ConfigErrors(errors)
        return after

    deployment, aws = out.deployed()
    why, parts = checks.connection(bucket, deployment, aws)
    changed = Rules(deployment.state_table, aws.dynamodb).change(bucket, edit)
    switched = chosen(changed, bucket, ids)
    notes = [] if disabled else checks.notes(switched, why, deployment)
    out.notes(notes)
    word = "off" if disabled else "on"
    lines = [f"Switched {word} {listing.line(rule)}" for rule in switched]
    rules = list(map(listing.document, switched))
    out.answer({"bucket": bucket, "rules": rules, "notes": notes}, *lines)


def chosen(rules: Sequence[Rule], bucket: str, ids: Sequence[str]) -> list[Rule]:
    """Return the rules with these ids.

    Raises:
        BucketcastError: one of them does not exist.
    """
    if unknown := sorted(set(ids) - {rule.id for rule in rules}):
        raise missing(bucket, f"has the id {', '.join(unknown)}")
    return [rule for rule in rules if rule.id in ids]


def missing(bucket: str, details: str) -> BucketcastError:
    return BucketcastError(
        f"no rule of {bucket} {details}, nothing was changed; "
        f"`bucketcast event ls {bucket}` lists the rules"
    )
