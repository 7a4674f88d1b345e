"""`bucketcast bucket ls`: connected buckets and their other notifications."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import click

from bucketcast.aws.clients import Aws, AwsError, aws_errors
from bucketcast.notifications.aws.access_events import AccessEvents, widened
from bucketcast.notifications.aws.attachments import Attachments, AttachmentStatus
from bucketcast.notifications.aws.trail import Logged
from bucketcast.state.rules import Rules
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, shared

_COLUMNS = ("BUCKET", "CONNECTED", "ACCESS EVENTS", "RULES", "OTHER NOTIFICATIONS")
_AT_ONCE = 16


class _Seen(NamedTuple):
    """A bucket; `logged` is None if access events are off, an error text if unknown."""

    state: AttachmentStatus
    rules: int
    logged: Logged | str | None


@click.command()
@click.argument("bucket", type=params.bucket_name, required=False)
@shared
def ls(out: Output, bucket: str | None) -> None:
    """List connected buckets: how they are connected, and their other notifications.

    Without BUCKET, it lists every bucket of the account that is connected or has rules. ACCESS
    EVENTS are the calls that CloudTrail logs because a rule asks for them.

    \b
    Example:
      bucketcast bucket ls
      bucketcast bucket ls archive --json
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    buckets = Attachments(deployment, aws)
    names = [bucket] if bucket else buckets.names()
    states = _look(buckets, names, aws)
    rules = _rules(deployment.state_table, names, aws)
    shown = [each for each in states if bucket or each.via or each.by_deploy or rules[each.bucket]]
    events = AccessEvents(deployment, aws)
    seen = [_Seen(each, rules[each.bucket], _logged(events, each.bucket)) for each in shown]
    document = {"buckets": [_document(each) for each in seen]}
    rows = [
        (
            each.state.bucket,
            _transport(each.state),
            _access(each.logged),
            str(each.rules),
            "; ".join(each.state.others),
        )
        for each in seen
    ]
    nothing = (
        "no bucket is connected: use `bucketcast bucket attach BUCKET`, or [bucket.NAME] and deploy"
    )
    out.table(document, _COLUMNS, rows, nothing)


def _look(buckets: Attachments, names: Iterable[str], aws: Aws) -> list[AttachmentStatus]:
    _ = aws.s3, aws.events, aws.dynamodb  # making a client is not safe among threads, using one is
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(buckets.look, names))


def _rules(table: str, names: Iterable[str], aws: Aws) -> dict[str, int]:
    rules = Rules(table, aws.dynamodb)
    with aws_errors():
        had = rules.versions(names)
        return {name: len(rules.of(name)) if name in had else 0 for name in names}


def _logged(events: AccessEvents, bucket: str) -> Logged | str | None:
    try:
        return events.look(bucket)
    except AwsError as error:
        return str(error)


def _transport(state: AttachmentStatus) -> str:
    if not state.via:
        return f"no ({state.why})" if state.why else "no"
    said = f"via {state.via}, by the deploy" if state.by_deploy else f"via {state.via}"
    if not state.part.is_whole:
        said += f": {state.part}"
    if state.left:
        command = f"bucketcast bucket detach {state.bucket}"
        return f"{said}, and also by `bucket attach`: remove that with `{command}`"
    if not state.both:
        return said
    when = state.switch.when if state.switch else ""
    again = "" if state.by_deploy else f": attach it again after {when}" if when else ": attach it"
    return f"{said}, and still by the old entry{again}"


def _access(logged: Logged | str | None) -> str:
    if not isinstance(logged, Logged):
        return f"? ({logged})" if logged else "off"
    if not logged.managed:
        calls = ", ".join(logged.required.calls) or "no rule needs any"
        return f"on, if its owner selected them: {calls}, by {logged.trail}"
    if not logged.is_so:
        return f"on, but {logged.trail} does not log all that the rules need: attach again"
    calls = ", ".join(logged.logged.calls) if logged.logged else "no rule needs any"
    return f"on: {calls}, by {logged.trail}{widened(logged)}"


def _document(seen: _Seen) -> dict[str, Any]:
    unknown = seen.logged if isinstance(seen.logged, str) else ""
    return {
        "bucket": seen.state.bucket,
        "via": seen.state.via or None,
        "part": None if seen.state.part.is_whole else seen.state.part._asdict(),
        "by_deploy": seen.state.by_deploy,
        "both": seen.state.both,
        "others": list(seen.state.others),
        "why": seen.state.why or unknown,
        "rules": seen.rules,
        "access_events": _calls(seen.logged) if isinstance(seen.logged, Logged) else None,
    }


def _calls(logged: Logged) -> dict[str, Any]:
    return {
        "trail": logged.trail,
        "asked": list(logged.required.calls),
        "managed": logged.managed,
        "logged": list(logged.logged.calls) if logged.logged else [],
        "as_asked": logged.is_so if logged.managed else None,
        "more_than_asked": logged.is_wider,
    }
