"""`bucketcast bucket ls`: connected buckets and their other notifications."""

from collections import Counter
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import click

from bucketcast.notifications.aws.attachments import Attachments, AttachmentStatus
from bucketcast.rules.access_events import NAMES
from bucketcast.rules.sent_events import EVENTBRIDGE, WHOLE, Part
from bucketcast.state.rules import Rules
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, shared

_COLUMNS = ("BUCKET", "CONNECTED", "ACCESS EVENTS", "RULES", "OTHER NOTIFICATIONS")
_AT_ONCE = 16


@click.command()
@click.argument("bucket", type=params.bucket_name, required=False)
@shared
def ls(out: Output, bucket: str | None) -> None:
    """List connected buckets: how they are connected, and their other notifications.

    Without BUCKET, it lists every bucket of the account that is connected, cannot be read, or has
    rules. ACCESS EVENTS are those that the deploy lets CloudTrail log.

    \b
    Example:
      bucketcast bucket ls
      bucketcast bucket ls archive --json
    """  # noqa: D301 - click reads the character
    deployment, aws = out.deployed()
    buckets = Attachments(deployment, aws)
    names = [bucket] if bucket else aws.bucket_names()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        states = list(pool.map(buckets.read_status, names))
    active = Rules(deployment.state_table, aws.dynamodb).active()
    rules = Counter(rule.bucket for rule in active)
    listed = [
        status
        for status in states
        if bucket or status.via or status.problem or status.by_deploy or rules[status.bucket]
    ]
    logged = deployment.access_events
    entries = [
        _document(status, rules[status.bucket], logged.get(status.bucket, ())) for status in listed
    ]
    rows = [
        (
            status.bucket,
            _transport(status),
            _words(entry["access_events"]),
            str(entry["rules"]),
            "; ".join(status.others),
        )
        for status, entry in zip(listed, entries, strict=True)
    ]
    hint = (
        "no bucket is connected: use `bucketcast bucket attach BUCKET`, or [bucket.NAME] and deploy"
    )
    out.table({"buckets": entries}, _COLUMNS, rows, hint)


def narrowed(state: AttachmentStatus) -> Part | None:
    """Return the part of a bucket's events that its entry sends; None if all, or by EventBridge."""
    return next((part for part in state.parts if part not in (WHOLE, EVENTBRIDGE)), None)


def _transport(state: AttachmentStatus) -> str:
    if not state.via:
        return f"no ({state.problem})" if state.problem else "no"
    via = "sqs and eventbridge" if state.via == "both" else state.via
    text = f"via {via}, by the deploy" if state.by_deploy else f"via {via}"
    if part := narrowed(state):
        text += f": {part}"
    return f"{text}: events arrive twice" if state.twice else text


def _words(events: Collection[str]) -> str:
    """Return the words of access events, as in the configuration."""
    return ", ".join(word for word, name in NAMES.items() if name in events) or "none"


def _document(state: AttachmentStatus, rules: int, access_events: Sequence[str]) -> dict[str, Any]:
    """Return an entry; `access_events` are names of events that a trail logs."""
    return {
        "bucket": state.bucket,
        "via": state.via or None,
        "part": part._asdict() if (part := narrowed(state)) else None,
        "by_deploy": state.by_deploy,
        "both": state.via == "both",
        "others": list(state.others),
        "why": state.problem,
        "rules": rules,
        "access_events": list(access_events),
    }
