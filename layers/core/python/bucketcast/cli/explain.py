"""`bucketcast explain`: why an event goes where it goes, and what would be sent."""

import time
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import click
import msgspec

from bucketcast import sources, targets
from bucketcast.cli import words
from bucketcast.cli.screen import Screen, shared
from bucketcast.errors import BadEvent, BucketcastError
from bucketcast.event import Event
from bucketcast.explain import Answer, Explanation, Sending, explained
from bucketcast.options import read
from bucketcast.rules import Rule
from bucketcast.shapes import aws as s3_record
from bucketcast.store import access, deployed
from bucketcast.store.access import Aws
from bucketcast.store.rules import Rules
from bucketcast.store.topics.items import Items
from bucketcast.targets.base import Target
from bucketcast.topics import endpoint
from bucketcast.topics.model import TopicArn, is_topic
from bucketcast.wording import metadata_name

_COLUMNS = ("RULE", "TARGET", "MATCHED", "BECAUSE")
_URI = "s3://"


class NoEventError(BucketcastError):
    """The file cannot be read, or holds no event."""


@click.command()
@click.argument("what", metavar="FILE|s3://BUCKET/KEY")
@click.option(
    "--event",
    "name",
    type=words.single_event,
    metavar="EVENT",
    help="put, delete, get or a name such as s3:ObjectCreated:Copy; with s3:// only.",
)
@click.option("--size", type=click.IntRange(min=0), metavar="BYTES", help="The object's size.")
@click.option("--version-id", metavar="ID", help="The object's version.")
@click.option("--tag", "tags", multiple=True, type=words.pair, metavar="NAME=VALUE")
@click.option(
    "--metadata",
    multiple=True,
    type=words.pair,
    metavar="NAME=VALUE",
    help="The user's metadata; x-amz-meta- may be left out.",
)
@click.option("--content-type", metavar="TYPE")
@click.option("--principal", metavar="ID", help="Who asked for it.")
@click.option("--source-ip", metavar="ADDRESS", help="From where.")
@shared
@click.pass_obj
def command(screen: Screen, /, what: str, **said: Any) -> None:
    """Say for each rule of the bucket whether an event matches, why not, and what is sent where.

    The event is that of a file, in whatever form it may arrive (- is standard input), or one that
    is thought up for an object. Nothing is sent, and no secret is looked at. What only the object
    knows, its metadata, tags and content type, counts as met where it is not said.

    \b
    Example:
      bucketcast explain event.json
      bucketcast explain s3://uploads/photos/cat.jpg --event put --size 2048 --tag class=public
    """  # noqa: D301 - click reads the character
    events = _thought_up(what, said) if what.startswith(_URI) else _of_file(what, said)
    aws = screen.aws()
    there = deployed.find(screen.stack, aws)
    table = Rules(there.rules_table, aws.dynamodb)

    @cache
    def rules(bucket: str) -> Sequence[Rule]:
        with access.explained():
            return sorted(table.of(bucket), key=lambda rule: (rule.arn, rule.prefix, rule.id))

    def target(arn: str) -> Target | None:
        if is_topic(arn):
            return _of_topic(arn, there.rules_table, aws)
        found = next((each for each in there.targets if each.arn == arn), None)
        if found is None:
            return None
        kind = targets.load(found.kind)
        return kind(read(kind.Settings, deployed.settings(found, aws)))

    explanation = explained(events, rules, target)
    if screen.json:
        screen.answer(_document(explanation))
        return
    for event in events:
        _show(screen, event, explanation)


def _of_topic(arn: str, table: str, aws: Aws) -> Target | None:
    """What a topic's events are sent by, without its login; None where they are sent nowhere."""
    with access.explained():
        topic = Items(table, aws.dynamodb).topic(TopicArn.parse(arn))
    pushed = endpoint.target(topic, {}) if topic else None
    if pushed is None:
        return None
    kind = targets.load(pushed.kind)
    return kind(read(kind.Settings, pushed.settings))


def _of_file(path: str, said: dict[str, Any]) -> list[Event]:
    given = [key for key, value in said.items() if value]
    if given:
        option = {"name": "event", "tags": "tag"}.get(given[0], given[0]).replace("_", "-")
        raise click.UsageError(f"--{option} is about s3://BUCKET/KEY; a file says it itself")
    try:
        with click.open_file(path, encoding="utf-8") as file:
            found = sources.events(file.read())
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise NoEventError(f"{path}: {reason}; name a file or s3://BUCKET/KEY") from None
    except BadEvent as error:
        raise NoEventError(f"{path}: {error}") from None
    if not found:
        raise NoEventError(f"{path} says nothing of an object: it would be taken and dropped")
    return found


def _thought_up(uri: str, said: dict[str, Any]) -> list[Event]:
    """The event that S3 would send, read as ingest reads it."""
    bucket, key = words.object_uri(uri)
    if said["name"] is None:
        raise click.UsageError("which event? --event put, delete, get or a name")
    seconds = time.time()
    event = Event(
        said["name"],
        bucket,
        key,
        time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(seconds)),
        f"{int(seconds * 1e9):016X}",
        msgspec.Raw(b"{}"),
        said["size"],
        version_id=said["version_id"],
        principal=said["principal"] or "",
        source_ip=said["source_ip"] or "",
        dialect="thought up",
    )
    (told,) = sources.events(s3_record.message(event).decode())
    metadata = {metadata_name(name): value for name, value in said["metadata"]}
    return [
        msgspec.structs.replace(
            told,
            metadata=metadata or None,
            tags=list(said["tags"]) or None,
            content_type=said["content_type"],
        )
    ]


def _show(screen: Screen, event: Event, explanation: Explanation) -> None:
    screen.line(f"{event.name} of s3://{event.bucket}/{event.key}, id {event.id}")
    screen.line("")
    answers = [answer for answer in explanation.answers if answer.event is event]
    rows = [
        (answer.rule.name or answer.rule.id, answer.rule.arn, _yes(answer), answer.because)
        for answer in answers
    ]
    screen.table({}, _COLUMNS, rows, f"{event.bucket} has no rule")
    for sending in explanation.sendings:
        if sending.event.id == event.id:
            for line in ("", *_lines(sending)):
                screen.line(line)
    for arn in explanation.missing:
        screen.note(f"{arn} is not deployed: its events go nowhere")


def _yes(answer: Answer) -> str:
    return "yes" if answer.matched else "no"


def _lines(sending: Sending) -> Iterator[str]:
    yield f"to {sending.target}"
    yield from (f"  {name}: {text}" for name, text in sending.headers.items())
    yield from (f"  {line}" for line in sending.body.decode().split("\n"))


def _document(explanation: Explanation) -> dict[str, Any]:
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
                "target": sending.target,
                "event": sending.event.id,
                "headers": dict(sending.headers),
                "body": sending.body.decode(),
            }
            for sending in explanation.sendings
        ],
        "not_deployed": list(explanation.missing),
    }
