"""`bucketcast explain`: which rules match an event, why, and what would be sent."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import click
from msgspec import structs

from bucketcast import sources
from bucketcast.aws import clients
from bucketcast.aws.clients import Aws
from bucketcast.deployment import Deployed
from bucketcast.destination import short_name
from bucketcast.diagnose import trial
from bucketcast.diagnose.explain import Answer, Explanation, Message, explain, offline_target
from bucketcast.errors import BadEvent, BucketcastError
from bucketcast.event import Event
from bucketcast.event.names import in_aws
from bucketcast.notifications.aws.checks import connection
from bucketcast.notifications.not_sent import not_sent
from bucketcast.rules import Rule
from bucketcast.rules.conditions import Condition
from bucketcast.rules.grammar import metadata_name
from bucketcast.state.rules import Rules
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, shared

_COLUMNS = ("RULE", "TARGET", "MATCHED", "BECAUSE")


@click.command()
@click.argument("source", metavar="FILE|s3://BUCKET/KEY")
@click.option(
    "--event",
    "name",
    type=params.single_event,
    metavar="EVENT",
    help="put, delete, get or a name, e.g. s3:ObjectCreated:Copy; only with s3://.",
)
@click.option("--size", type=click.IntRange(min=0), metavar="BYTES", help="The object's size.")
@click.option("--version-id", metavar="ID", help="The object's version.")
@click.option("--tag", "tags", multiple=True, type=params.pair, metavar="NAME=VALUE")
@click.option(
    "--metadata",
    multiple=True,
    type=params.pair,
    metavar="NAME=VALUE",
    help="User metadata; the prefix x-amz-meta- is optional.",
)
@click.option("--content-type", metavar="TYPE")
@click.option("--principal", metavar="ID", help="Principal that made the request.")
@click.option("--source-ip", type=params.address, metavar="ADDRESS", help="Client address.")
@shared
def command(out: Output, /, source: str, **options: Any) -> None:
    """Show which rules match an event and why, and the exact bytes that would be sent.

    The event comes from a file, in any format that ingest reads (- is standard input), or is a
    synthetic one for an s3:// object. Nothing is sent and no secret is read. Conditions on
    metadata, tags and content type count as matched unless the value is given.

    \b
    Example:
      bucketcast explain event.json
      bucketcast explain s3://uploads/photos/cat.jpg --event put --size 2048 --tag class=public
    """  # noqa: D301 - click reads the character
    events = (
        synthetic(source, options) if source.startswith(params.URI) else _from_file(source, options)
    )
    deployment, aws = out.deployed()
    explanation = explain_deployed(events, deployment, aws)
    if out.json:
        out.answer(document(explanation))
        return
    for event in events:
        out.line(f"{event.name} of s3://{event.bucket}/{event.key}, id {event.id}")
        out.line("")
        show(out, event, explanation)
        for message in explanation.messages:
            if message.event.id == event.id:
                for line in ("", *lines(message)):
                    out.line(line)


def explain_deployed(events: Sequence[Event], deployment: Deployed, aws: Aws) -> Explanation:
    """Explain events by a deployment's rules and targets.

    Raises:
        AwsError: AWS cannot be reached.
    """
    table = Rules(deployment.state_table, aws.dynamodb)

    @cache
    def rules(bucket: str) -> Sequence[Rule]:
        with clients.aws_errors():
            return sorted(table.of(bucket), key=lambda rule: (rule.arn, rule.prefix, rule.id))

    explanation = explain(events, rules, lambda to: offline_target(to, deployment, aws))
    asked = {(event.bucket, event.name) for event in events if event.dialect != "cloudtrail"}
    hints = [deployment.not_logged(bucket, [name]) for bucket, name in sorted(asked)]
    parts = cache(lambda bucket: connection(bucket, deployment, aws)[1])
    for event in (each for each in events if each.dialect != "cloudtrail"):
        of_key = (Condition("key", (event.key,)),)
        one = Rule(bucket=event.bucket, arn="", events=(in_aws(event),), conditions=of_key)
        hints.append(not_sent([one], parts(event.bucket), deployment.buckets))
    return replace(explanation, not_logged=list(dict.fromkeys(filter(None, hints))))


def _from_file(path: str, options: dict[str, Any]) -> list[Event]:
    used = [key for key, value in options.items() if value]
    if used:
        option = {"name": "event", "tags": "tag"}.get(used[0], used[0]).replace("_", "-")
        raise click.UsageError(f"--{option} is allowed with s3://BUCKET/KEY only, not with a file")
    text = params.read_file(Path(path))
    try:
        events = sources.events(text)
    except BadEvent as error:
        raise BucketcastError(f"{path}: {error}") from None
    if not events:
        raise BucketcastError(f"{path} contains no object event: ingest would accept and drop it")
    return events


def synthetic(uri: str, options: dict[str, Any]) -> list[Event]:
    """Return the event that S3 would send, as ingest reads it."""
    bucket, key = params.object_uri(uri)
    if options["name"] is None:
        raise click.UsageError("--event is missing: put, delete, get or a name")
    event = trial.synthetic(
        options["name"],
        bucket,
        key,
        options["size"],
        version_id=options["version_id"],
        principal=options["principal"] or "",
        source_ip=options["source_ip"] or "",
    )
    metadata = {metadata_name(name): value for name, value in options["metadata"]}
    return [
        structs.replace(
            event,
            metadata=metadata or None,
            tags=list(options["tags"]) or None,
            content_type=options["content_type"],
        )
    ]


def show(out: Output, event: Event, explanation: Explanation) -> None:
    """Print the rules' answers to an event."""
    answers = [answer for answer in explanation.answers if answer.event is event]
    out.table({}, _COLUMNS, _rows(answers, explanation.missing), f"{event.bucket} has no rules")
    for arn in explanation.missing:
        out.note(f"{short_name(arn)} is not deployed: its events are dropped")
    out.notes(explanation.not_logged)


def _rows(answers: Iterable[Answer], missing: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the cells of the table of answers."""
    return [
        (
            answer.rule.name or answer.rule.id,
            answer.rule.to.short,
            _matched(answer, missing),
            answer.because,
        )
        for answer in answers
    ]


def _matched(answer: Answer, missing: Sequence[str]) -> str:
    if not answer.matched:
        return "no"
    return "yes, not deployed" if answer.rule.arn in missing else "yes"


def lines(message: Message) -> Iterator[str]:
    """Yield what is sent to a target, for people."""
    yield f"to {short_name(message.target)}"
    yield from (f"  {name}: {value}" for name, value in message.headers.items())
    yield from (f"  {line}" for line in message.body.decode(errors="replace").split("\n"))


def document(explanation: Explanation) -> dict[str, Any]:
    return {
        "events": [
            {"name": event.name, "bucket": event.bucket, "key": event.key, "id": event.id}
            for event in explanation.events
        ],
        "rules": [
            {
                "id": answer.rule.name or answer.rule.id,
                "event": answer.event.id,
                "target": answer.rule.arn,
                "matched": answer.matched,
                "because": answer.because,
            }
            for answer in explanation.answers
        ],
        "deliveries": [
            {
                "target": message.target,
                "event": message.event.id,
                "headers": dict(message.headers),
                "body": message.body.decode(),
            }
            for message in explanation.messages
        ],
        "not_deployed": list(explanation.missing),
        "not_logged": list(explanation.not_logged),
    }
